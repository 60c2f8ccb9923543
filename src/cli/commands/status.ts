// `turnpike status`: the gateway and its last 24 hours in a few lines.
import { clientCommand } from '../call-command.ts'
import type { Command, Input } from '../command.ts'
import type { Client, Json } from '../http-client.ts'
import { type Cell, printFields, printJson } from '../output.ts'
import { type ProviderState, providerStates } from '../provider-state.ts'

// The names of more accounts are not printed.
const LOW_MAX = 5

export const commands: Readonly<Record<string, Command>> = {
  '': clientCommand(
    {
      usage: 'status [options]',
      about: 'Shows the gateway, its providers and the last 24 hours in a few lines.',
      examples: ['turnpike status', 'turnpike status --profile prod --json'],
    },
    status,
  ),
}

async function status(input: Input, client: Client): Promise<number> {
  const [settings, nodes, overview, providers] = await Promise.all([
    client.call('GET', '/settings'),
    client.call('GET', '/nodes'),
    client.call('GET', '/overview'),
    providerStates(client),
  ])
  const all = nodes.data as readonly Json[]
  const alive = all.filter(({ state }) => state === 'alive').length
  const { version, engine, redis } = settings
  const { totals, low_balances: low, top } = overview as Readonly<Record<'totals' | 'low_balances' | 'top', unknown>>
  if (input.json) {
    const counts = { alive, silent: all.length - alive }
    printJson({ version, engine, redis, nodes: counts, last_24_hours: totals, providers, low_balances: low })
    return 0
  }
  printFields([
    ['version', String(version)],
    ['store', redis === 'none' ? String(engine) : `${engine}, Redis ${redis}`],
    ['nodes', `${alive} alive${alive < all.length ? `, ${all.length - alive} silent` : ''}`],
    ['providers', providerLine(providers)],
    ...totalLines(totals as Json),
    ...topLines(top as Readonly<Record<string, readonly Json[]>>),
    ['low balances', lowLine(low as readonly Json[])],
  ])
  return 0
}

function providerLine(providers: readonly ProviderState[]): string {
  const faults = providers.flatMap(({ id, targets, down, credentials }) => [
    ...(down.length === 0 ? [] : [`${id}: ${down.length} of ${targets} targets down`]),
    ...(credentials.length === 0 ? [] : [`${id}: ${credentials.length} credentials not usable`]),
  ])
  return faults.length === 0 ? `${providers.length} healthy` : faults.join('; ')
}

function totalLines({ requests, errors, cost, margin, p95_ms: p95 }: Json): readonly (readonly [string, Cell])[] {
  const share = Number(requests) === 0 ? '' : ` (${((100 * Number(errors)) / Number(requests)).toFixed(1)} %)`
  return [
    ['requests, 24 h', Number(requests)],
    ['errors, 24 h', `${errors}${share}`],
    ['revenue, 24 h', margin === null ? `${cost} credits` : `${cost} credits, margin ${margin}`],
    ['p95, 24 h', p95 === null ? '-' : `${p95} ms`],
  ]
}

function topLines({
  accounts,
  models,
}: Readonly<Record<string, readonly Json[]>>): readonly (readonly [string, Cell])[] {
  const [account, model] = [accounts?.[0], models?.[0]]
  return [
    ...(account === undefined ? [] : [['top account', `${account.name} (${account.cost} credits)`] as const]),
    ...(model === undefined ? [] : [['top model', `${model.id} (${model.cost} credits)`] as const]),
  ]
}

function lowLine(low: readonly Json[]): string {
  const names = low.slice(0, LOW_MAX).map(({ name, available }) => `${name} (${available})`)
  const more = low.length > LOW_MAX ? [`and ${low.length - LOW_MAX} more`] : []
  return [...names, ...more].join(', ') || 'none'
}
