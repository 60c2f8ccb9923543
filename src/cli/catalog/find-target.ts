// Finds a target by PROVIDER:MODEL, or by the ID of a model that has only one.
import { Failed } from '../command.ts'
import type { Client, Json } from '../http-client.ts'
import { clean } from '../output.ts'

export type Target = { readonly provider: string; readonly model: string }

const NAMED_MAX = 10

export async function findTarget(text: string, client: Client): Promise<Target> {
  const at = text.indexOf(':')
  const written = at < 1 ? undefined : { provider: text.slice(0, at), model: text.slice(at + 1) }
  const known = written === undefined ? undefined : await targetsOf(written.provider, client)
  if (written !== undefined && known?.includes(written.model)) return written
  const model = await orNone(client.call('GET', `/models/${encodeURIComponent(text)}`))
  const targets = (model?.targets ?? []) as readonly Target[]
  const [one] = targets
  if (one !== undefined && targets.length === 1) return { provider: one.provider, model: one.model }
  if (one !== undefined) throw new Failed(several(text, targets))
  const others = (known ?? []).map(each => `${written?.provider}:${each}`)
  const hint = others.length > 0 ? `; there are ${listed(others)}` : '; see "turnpike targets list"'
  throw new Failed(`there is no target "${clean(text)}"${hint}`)
}

// The names of its models, if there is such a provider.
async function targetsOf(provider: string, client: Client): Promise<readonly string[] | undefined> {
  const health = await orNone(client.call('GET', `/providers/${encodeURIComponent(provider)}/health`))
  return (health?.targets as readonly Json[] | undefined)?.map(({ model }) => String(model))
}

async function orNone(call: Promise<Json>): Promise<Json | undefined> {
  return call.catch((error: Error) => {
    if (error instanceof Failed && error.status === 404) return undefined
    throw error
  })
}

function several(text: string, targets: readonly Target[]): string {
  const names = targets.slice(0, NAMED_MAX).map(({ provider, model }) => `  ${clean(`${provider}:${model}`)}`)
  const more = targets.length > NAMED_MAX ? ['  and more'] : []
  return [`"${clean(text)}" has more than one target; use PROVIDER:MODEL:`, ...names, ...more].join('\n')
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, NAMED_MAX).map(clean)
  return `${shown.join(', ')}${names.length > shown.length ? ' and more' : ''}`
}
