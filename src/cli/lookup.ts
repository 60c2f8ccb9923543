// Finds objects by name: an exact ID, else an exact name or the last four characters of a key's secret. Customers name keys too, so
// that neither wins over the other. The gateway searches; several matches are an error that lists them, and nothing is ever guessed.
import { type Command, Failed, type Input, type Noun, optionsOf } from './command.ts'
import type { Client, Json } from './http-client.ts'
import { clean } from './output.ts'

export type Subject = { readonly id: string; readonly name: string | undefined }

type Kind = {
  readonly path: string
  // IDs as the gateway makes them, which need no search.
  readonly made: RegExp
  // Anything that could be an ID.
  readonly form: RegExp
  readonly by: string
  searches(text: string): readonly string[]
  // Of a row that these searches find, whether it is meant; for lists that are too short to need a filter.
  isMeant?(row: Json, text: string): boolean
}

// Operators and webhooks are few: one page has all of them.
const ALL = 'limit=1000'
const CANDIDATES_MAX = 10

const KINDS: Readonly<Record<Noun, Kind>> = {
  account: {
    path: '/accounts',
    made: /^acct_[0-9a-f]{32}$/,
    form: /^acct_\w+$/,
    by: 'ID or name',
    searches: text => [filter({ name: text })],
  },
  key: {
    path: '/keys',
    made: /^key_[0-9a-f]{32}$/,
    form: /^key_\w+$/,
    by: 'ID, name or last four characters',
    searches: text => [filter({ name: text }), ...(text.length === 4 ? [filter({ last4: text })] : [])],
  },
  operator: {
    path: '/operators',
    made: /^op_(?:root|[0-9a-f]{32})$/,
    form: /^op_\w+$/,
    by: 'ID or name',
    searches: () => [ALL],
    isMeant: ({ name }, text) => name === text,
  },
  webhook: {
    path: '/webhooks',
    made: /^wh_[0-9a-f]{32}$/,
    form: /^wh_\w+$/,
    by: 'ID, URL or description',
    searches: () => [ALL],
    isMeant: ({ url, description }, text) => url === text || description === text,
  },
}

// What the command's first argument and its options name, replaced by IDs.
export async function resolveNames(
  command: Command,
  input: Input,
  client: Client,
): Promise<{ readonly input: Input; readonly subject: Subject | undefined }> {
  const [first] = input.args
  const subject =
    command.names === undefined || first === undefined ? undefined : await lookUp(command.names, first, client)
  const ids = new Map<string, string>()
  for (const [name, { names }] of Object.entries(optionsOf(command))) {
    const value = input.text(name)
    if (names !== undefined && value !== undefined && !KEYWORDS.includes(value))
      ids.set(name, (await lookUp(names, value, client)).id)
  }
  const resolved: Input = {
    ...input,
    args: subject === undefined ? input.args : [subject.id, ...input.args.slice(1)],
    text: name => ids.get(name) ?? input.text(name),
  }
  return { input: resolved, subject }
}

// Values that remove a reference.
const KEYWORDS = ['any', 'none']

async function lookUp(noun: Noun, text: string, client: Client): Promise<Subject> {
  const kind = KINDS[noun]
  if (kind.made.test(text)) return { id: text, name: undefined }
  const byId = new Map<string, Json>()
  for (const search of kind.searches(text)) {
    const { data } = await client.call('GET', `${kind.path}?${search}`)
    for (const row of data as readonly Json[]) if (kind.isMeant?.(row, text) ?? true) byId.set(String(row.id), row)
  }
  const found = [...byId.values()]
  const [one] = found
  if (one !== undefined && found.length === 1) return { id: String(one.id), name: nameOf(one) }
  if (found.length > 1) throw new Failed(await ambiguous(noun, text, found, client))
  // Perhaps an ID of another form.
  if (kind.form.test(text)) {
    const known = await client.call('GET', `${kind.path}/${text}`).catch((error: Error) => {
      if (error instanceof Failed && error.status === 404) return undefined
      throw error
    })
    if (known !== undefined) return { id: text, name: nameOf(known) }
  }
  const hint =
    noun === 'account' || noun === 'key' ? `; turnpike ${noun}s list --search TEXT finds parts of a name` : ''
  throw new Failed(`there is no ${noun} with the ${kind.by} "${clean(text)}"${hint}`)
}

async function ambiguous(noun: Noun, text: string, found: readonly Json[], client: Client): Promise<string> {
  const lines: string[] = []
  for (const row of found.slice(0, CANDIDATES_MAX)) {
    const account = noun === 'key' ? await nameById('account', String(row.account_id), client) : undefined
    const name = account === undefined ? nameOf(row) : `${nameOf(row)} of ${account}`
    const facts = [name, row.label, row.state ?? row.status ?? row.role].filter(each => each !== undefined)
    lines.push(`  ${row.id}  ${facts.map(fact => clean(String(fact))).join(', ')}`)
  }
  const more = found.length > CANDIDATES_MAX ? ['  and more'] : []
  return [`"${clean(text)}" is more than one ${noun}; use the ID:`, ...lines, ...more].join('\n')
}

function nameOf({ name, url }: Json): string | undefined {
  return typeof name === 'string' ? name : typeof url === 'string' ? url : undefined
}

// One more than is shown tells that there are more.
function filter(by: Readonly<Record<string, string>>): string {
  return new URLSearchParams({ ...by, limit: String(CANDIDATES_MAX + 1) }).toString()
}

// The name of an object whose ID was given, for a question; undefined if it cannot be read.
export async function nameById(noun: Noun, id: string, client: Client): Promise<string | undefined> {
  return client.call('GET', `${KINDS[noun].path}/${encodeURIComponent(id)}`).then(nameOf, () => undefined)
}
