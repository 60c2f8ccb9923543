// The search over customers, keys, models and requests, from one text.
import type { Model } from '../domain/catalog.ts'
import type { Finder, UsageReports } from '../store/contract/operator.ts'
import type { List } from './input.ts'

export type SearchResult = {
  readonly object: 'search_result'
  readonly type: 'account' | 'key' | 'model' | 'request'
  readonly id: string
  readonly name: string
  // What tells it from others of the same name.
  readonly detail: string | null
}

export type SearchMethod = (text: string) => Promise<List<SearchResult>>

export type SearchNeeds = {
  readonly finder: Finder
  readonly usage: Pick<UsageReports, 'get'>
  // Those that clients can use.
  models(): readonly Pick<Model, 'id' | 'name' | 'aliases'>[]
}

const OF_ONE_TYPE_MAX = 6
const REQUEST_ID = /(?<![0-9a-f])[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/i

export function searchMethod({ finder, usage, models }: SearchNeeds): SearchMethod {
  return async text => {
    const words = text.trim()
    // Also inside of `chatcmpl-…` or of a line of a log.
    const requestId = REQUEST_ID.exec(words)?.[0].toLowerCase()
    const [request, accounts, keys] = await Promise.all([
      requestId === undefined ? undefined : usage.get(requestId),
      words === '' ? [] : finder.accounts(words, OF_ONE_TYPE_MAX),
      words === '' ? [] : finder.keys(words, OF_ONE_TYPE_MAX),
    ])
    const data = [
      ...(request === undefined ? [] : [requestResult(request)]),
      ...accounts.map(({ id, name, contactEmail, externalId }) =>
        result('account', id, name, contactEmail ?? externalId),
      ),
      ...keys.map(({ id, name, label, status }) =>
        result('key', id, name, status === 'active' ? label : `${label} ${status}`),
      ),
      ...matching(models(), words).map(({ id, name }) => result('model', id, id, name === id ? null : name)),
    ]
    return { object: 'list', data, has_more: false }
  }
}

function matching(models: ReturnType<SearchNeeds['models']>, words: string) {
  const wanted = words.toLowerCase()
  if (wanted === '') return []
  return models
    .filter(({ id, name, aliases }) => [id, name, ...aliases].some(text => text.toLowerCase().includes(wanted)))
    .slice(0, OF_ONE_TYPE_MAX)
}

function requestResult(row: NonNullable<Awaited<ReturnType<UsageReports['get']>>>): SearchResult {
  const model = row.modelServed ?? row.modelRequested
  return result('request', row.requestId, row.requestId, [model, row.outcome].filter(Boolean).join(', '))
}

function result(type: SearchResult['type'], id: string, name: string, detail: string | null): SearchResult {
  return { object: 'search_result', type, id, name, detail }
}
