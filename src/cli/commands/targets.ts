// `turnpike targets …`: the targets of providers: their health, a test request, disable and enable.
import { clientCommand } from '../call-command.ts'
import { findTarget, type Target } from '../catalog/find-target.ts'
import type { Command, Input } from '../command.ts'
import type { Client, Json } from '../http-client.ts'
import { clean, printJson } from '../output.ts'
import { confirm, YES_OPTION } from '../prompt.ts'
import { showOne, showRows } from '../show.ts'

const TARGET = { takes: [1, 1] } as const
const BY = 'TARGET is PROVIDER:MODEL, or the ID of a model that has one target.'

export const commands: Readonly<Record<string, Command>> = {
  list: clientCommand(
    {
      usage: 'targets list [options]',
      about: 'Lists the targets of all providers, or of one, with their state, success rate and time to first byte.',
      examples: ['turnpike targets list', 'turnpike targets list --provider openai'],
      options: { provider: { value: 'ID', about: 'only this provider' } },
      hasRows: true,
    },
    list,
  ),
  test: clientCommand(
    {
      usage: 'targets test TARGET [options]',
      about:
        'Sends a test request to a target and prints what the provider answered. The provider charges for it; no account does. Exits with 1 if it fails.',
      examples: ['turnpike targets test openai:gpt-4o', 'turnpike targets test gpt-4o --json'],
      options: { credential: { value: 'ID', about: 'with this credential (default: the next in turn)' } },
      more: BY,
      ...TARGET,
    },
    async (input, client) => {
      const { provider, model } = await findTarget(input.args[0] ?? '', client)
      const credential = input.text('credential')
      const order = { model, ...(credential === undefined ? {} : { credential_id: credential }) }
      const result = await client.call('POST', pathOf(provider, 'test'), order)
      showOne(result, input)
      return result.ok === true ? 0 : 1
    },
  ),
  disable: clientCommand(
    {
      usage: 'targets disable TARGET [options]',
      about:
        'Sends no more requests to a target, on all nodes, until it is enabled again. Applying the configuration file does not enable it. Running requests finish.',
      examples: ['turnpike targets disable openai:gpt-4o'],
      options: YES_OPTION,
      more: BY,
      ...TARGET,
    },
    async (input, client) => {
      const target = await findTarget(input.args[0] ?? '', client)
      const left = await servedOnlyBy(target, client)
      if (left.length > 0) {
        const them = left.length === 1 ? 'it' : 'them'
        const warning = `no other target serves ${left.join(', ')}: requests for ${them} get "model not found"`
        process.stderr.write(`warning: ${clean(warning)}\n`)
        await confirm(`Disable ${target.provider}:${target.model}?`, input)
      }
      return set(target, true, input, client)
    },
  ),
  enable: clientCommand(
    {
      usage: 'targets enable TARGET',
      about: 'Sends requests to a target again.',
      examples: ['turnpike targets enable openai:gpt-4o'],
      more: BY,
      ...TARGET,
    },
    async (input, client) => set(await findTarget(input.args[0] ?? '', client), false, input, client),
  ),
}

const COLUMNS = {
  columns: [
    ...['target', 'status', 'state', 'success_rate', 'first_byte_ms', 'in_flight', 'requests', 'failures'],
    ...['open_until', 'disabled_at', 'disabled_by'],
  ],
  extra: ['provider', 'model'],
  id: 'target',
}

// More providers are not listed, and no more are asked at once.
const PROVIDERS_MAX = 1000
const AT_ONCE = 8

async function list(input: Input, client: Client): Promise<number> {
  const only = input.text('provider')
  const ids = only === undefined ? await providerIds(client) : [only]
  const rows = await rowsOfAll(ids, client)
  if (input.json) printJson({ object: 'list', data: rows, has_more: false })
  else showRows(rows, COLUMNS, input)
  return 0
}

async function providerIds(client: Client): Promise<readonly string[]> {
  const { data } = await client.call('GET', `/providers?limit=${PROVIDERS_MAX}`)
  return (data as readonly Json[]).map(({ id }) => String(id))
}

async function rowsOfAll(providers: readonly string[], client: Client): Promise<readonly Json[]> {
  const rows: Json[] = []
  for (let at = 0; at < providers.length; at += AT_ONCE)
    rows.push(...(await Promise.all(providers.slice(at, at + AT_ONCE).map(id => rowsOf(id, client)))).flat())
  return rows
}

async function rowsOf(provider: string, client: Client): Promise<readonly Json[]> {
  const { targets } = await client.call('GET', pathOf(provider, 'health'))
  return (targets as readonly Json[]).map(each => ({ target: `${provider}:${each.model}`, provider, ...each }))
}

async function set(target: Target, disabled: boolean, input: Input, client: Client): Promise<number> {
  const { model, provider } = target
  const health = await client.call('PATCH', pathOf(provider, 'targets'), { model, disabled })
  const now = (health.targets as readonly Json[]).find(each => each.model === model) ?? {}
  return showOne({ provider, ...now }, input)
}

const MODELS_PAGE = 1000
// As many as a catalog may have.
const MODEL_PAGES_MAX = 10

// Models that nobody else serves: their other targets, if any, are disabled, or of an inactive provider.
async function servedOnlyBy(target: Target, client: Client): Promise<readonly string[]> {
  const served = await modelsOf(target, client)
  const providers = [...new Set(served.flatMap(({ others }) => others.map(({ provider }) => provider)))]
  const rows = await rowsOfAll(providers, client)
  const inForce = new Set(rows.filter(({ status }) => status !== 'disabled').map(row => row.target))
  const isServed = ({ provider, model }: Target) => inForce.has(`${provider}:${model}`)
  return served.filter(({ others }) => !others.some(isServed)).map(({ id }) => id)
}

type Served = { readonly id: string; readonly others: readonly Target[] }

// The active models of a target, with their other ones.
async function modelsOf({ provider, model }: Target, client: Client): Promise<readonly Served[]> {
  const served: Served[] = []
  let after = ''
  for (let pages = 0; pages < MODEL_PAGES_MAX; pages++) {
    const page = await client.call('GET', `/models?limit=${MODELS_PAGE}${after}`)
    const models = page.data as readonly (Json & { readonly targets: readonly Target[] })[]
    for (const { id, status, targets } of models) {
      const others = targets.filter(each => each.provider !== provider || each.model !== model)
      if (status === 'active' && others.length < targets.length) served.push({ id: String(id), others })
    }
    if (page.has_more !== true || models.length === 0) break
    after = `&after=${encodeURIComponent(String(models.at(-1)?.id))}`
  }
  return served
}

function pathOf(provider: string, rest: string): string {
  return `/providers/${encodeURIComponent(provider)}/${rest}`
}
