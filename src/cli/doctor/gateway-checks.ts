// What `turnpike doctor` checks at the gateway: whether it is reachable and ready, the token, clocks, versions, store and providers.
import { systemClock } from '../../lib/clock.ts'
import { version } from '../../lib/version.ts'
import type { Failed } from '../command.ts'
import type { Connection } from '../connection.ts'
import { type Client, clientOf, type Json, probe } from '../http-client.ts'
import { identify } from '../identify.ts'
import { type ProviderState, providerStates } from '../provider-state.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

const CLOCK_WARN_MS = 5_000
const CLOCK_FAIL_MS = 300_000

export async function gatewayChecks(connection: Connection): Promise<readonly Finding[]> {
  const reached = await reachCheck(connection)
  if (reached.some(({ state }) => state === 'fail')) return reached
  return [...reached, ...(await tokenChecks(connection))]
}

async function reachCheck(connection: Connection): Promise<readonly Finding[]> {
  const { url, urlFrom } = connection
  try {
    const before = systemClock.now()
    const health = await probe(connection, '/health')
    const after = systemClock.now()
    if (health.status !== 200 || health.body?.status !== 'ok')
      return [
        fail(
          'gateway',
          `${url} does not look like Turnpike (status ${health.status})`,
          `check the URL (from ${urlFrom})`,
        ),
      ]
    const ready = await probe(connection, '/ready')
    return [
      ok('gateway', `${url} (from ${urlFrom})`),
      ready.status === 200
        ? ok('ready', 'the store answers')
        : fail(
            'ready',
            String(ready.body?.reason ?? `status ${ready.status}`),
            'see docs/troubleshooting.md and the gateway’s log',
          ),
      clockCheck(Date.parse(health.headers.get('date') ?? ''), (before + after) / 2),
    ]
  } catch (error) {
    return [fail('gateway', (error as Error).message, 'start it with "turnpike serve", or pass --url or --profile')]
  }
}

function clockCheck(there: number, here: number): Finding {
  const off = there - here
  if (Number.isNaN(off)) return warn('clock', 'the gateway sends no Date header', 'check for a proxy that removes it')
  const detail = `the gateway is ${Math.abs(off / 1000).toFixed(0)} s ${off < 0 ? 'behind' : 'ahead'}`
  if (Math.abs(off) < CLOCK_WARN_MS) return ok('clock', 'same as the gateway’s')
  const fix = 'synchronise both clocks (NTP): limits, budgets and expiry follow the gateway’s'
  return Math.abs(off) < CLOCK_FAIL_MS ? warn('clock', detail, fix) : fail('clock', detail, fix)
}

async function tokenChecks(connection: Connection): Promise<readonly Finding[]> {
  const { token, tokenFrom } = connection
  if (token === undefined) return [fail('token', 'no admin token', 'run "turnpike login", or set TURNPIKE_ADMIN_TOKEN')]
  const client = clientOf({ ...connection, token })
  const found = await attempt('token', async () => {
    const operator = await identify(client)
    return [ok('token', `${operator.name} (${operator.role}), from ${tokenFrom}`)]
  })
  if (found.some(({ state }) => state === 'fail')) return found
  return [
    ...found,
    ...(await attempt('store', () => storeChecks(client))),
    ...(await attempt('providers', async () => providerChecks(await providerStates(client)))),
  ]
}

// A call that fails is a finding of its own. Only a 401 is a matter of the token.
async function attempt(check: string, run: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  try {
    return await run()
  } catch (error) {
    const { message, status } = error as Partial<Failed>
    return [
      status === 401
        ? fail('token', String(message), 'run "turnpike login" with a valid token')
        : fail(check, `cannot be checked: ${message}`, 'see the gateway’s log'),
    ]
  }
}

async function storeChecks(client: Client): Promise<readonly Finding[]> {
  const settings = await client.call('GET', '/settings')
  const { data } = await client.call('GET', '/nodes')
  const silent = (data as readonly Json[]).filter(({ state }) => state === 'silent').map(({ name }) => name)
  const [own, there] = [version(), settings.version]
  return [
    own === there
      ? ok('version', String(there))
      : warn('version', `gateway ${there}, command line ${own}`, 'install the same version of both'),
    settings.redis === 'away'
      ? warn(
          'store',
          `${settings.engine}, Redis cannot be reached`,
          'check REDIS_URL: each node limits by itself meanwhile',
        )
      : ok('store', settings.redis === 'none' ? String(settings.engine) : `${settings.engine} and Redis`),
    silent.length === 0
      ? ok('nodes', `${(data as readonly Json[]).length} alive`)
      : warn('nodes', `silent: ${silent.join(', ')}`, 'check whether they were stopped on purpose'),
  ]
}

function providerChecks(providers: readonly ProviderState[]): readonly Finding[] {
  if (providers.length === 0)
    return [warn('providers', 'there is no active provider', 'add one: turnpike providers create --help')]
  return providers.map(({ id, targets, down, credentials }) => {
    const check = `provider ${id}`
    if (targets > 0 && down.length === targets)
      return fail(check, 'all targets are down', `turnpike providers health ${id}; turnpike logs --provider ${id}`)
    if (credentials.length > 0)
      return warn(
        check,
        `not usable: ${credentials.join(', ')}`,
        `replace it: turnpike providers add-credential ${id} --help`,
      )
    if (down.length > 0) return warn(check, `down: ${down.join(', ')}`, `turnpike providers health ${id}`)
    return ok(check, `${targets} targets healthy`)
  })
}
