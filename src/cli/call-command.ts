// Builds commands of the admin API: shared options, client, names instead of IDs, confirmation and output.
import type { Command, Input, Option } from './command.ts'
import { CLIENT_OPTIONS } from './connection.ts'
import { CHANGE_OPTIONS, ifMatch, readDocument, SET_OPTIONS, something, VERSION_OPTION } from './document.ts'
import { CLIENT_HELP, type Client, type Json, openClient } from './http-client.ts'
import { nameById, resolveNames, type Subject } from './lookup.ts'
import { confirm, isInteractive, YES_OPTION } from './prompt.ts'
import { type ListShape, PAGE_OPTIONS, showList, showOne } from './show.ts'

export type Call = {
  readonly method: Parameters<Client['call']>[0]
  readonly path: string
  readonly body?: Json | undefined
  readonly headers?: Readonly<Record<string, string>>
}

type Help = Pick<Command, 'usage' | 'about' | 'examples' | 'options' | 'takes' | 'names' | 'hasRows' | 'more'> & {
  // What cannot be undone, such as "Revoke the key": asked on a terminal.
  readonly confirms?: string
}

// One call, whose result is shown. It is made up before the gateway is asked for anything, so that mistakes in options come first,
// and again once names are replaced by IDs.
export function callCommand(help: Help, call: (input: Input) => Call | Promise<Call>): Command {
  const command: Command = {
    ...helpOf(help),
    async run(given) {
      const draft = await call(given)
      const { input, client } = await prepare(command, given, help.confirms)
      const { method, path, body, headers } = hasNames(command) ? await call(input) : draft
      return showOne(await client.call(method, path, body, headers), input)
    },
  }
  return command
}

// For commands that make several calls or show several objects. `check` finds mistakes in options.
export function clientCommand(
  { check, ...help }: Help & { check?(input: Input): unknown },
  run: (input: Input, client: Client) => Promise<number>,
): Command {
  const command: Command = {
    ...helpOf(help),
    async run(given) {
      check?.(given)
      const { input, client } = await prepare(command, given, help.confirms)
      return run(input, client)
    },
  }
  return command
}

function helpOf({ confirms, options, more, ...help }: Help): Omit<Command, 'run'> {
  return {
    ...help,
    options: { ...options, ...(confirms === undefined ? {} : YES_OPTION) },
    commonOptions: CLIENT_OPTIONS,
    more: more === undefined ? CLIENT_HELP : `${more}\n\n${CLIENT_HELP}`,
  }
}

async function prepare(command: Command, given: Input, confirms: string | undefined) {
  const client = await openClient(given)
  const { input, subject } = await resolveNames(command, given, client)
  if (confirms !== undefined && isInteractive() && !input.flag('yes'))
    await confirm(`${confirms} ${await describe(command, input, subject, client)}? This cannot be undone.`, input)
  return { input, client }
}

function hasNames({ names, options = {} }: Command): boolean {
  return names !== undefined || Object.values(options).some(option => option.names !== undefined)
}

async function describe(
  { names }: Command,
  { args }: Input,
  subject: Subject | undefined,
  client: Client,
): Promise<string> {
  if (names === undefined || subject === undefined) return args.map(arg => `"${arg}"`).join(' ')
  const name = subject.name ?? (await nameById(names, subject.id, client))
  return name === undefined ? subject.id : `"${name}" (${subject.id})`
}

// An option that filters a list; `query` is its name in the API, where that differs, and `written` its value.
export type Filters = Readonly<
  Record<string, Option & { readonly query?: string; readonly written?: (text: string) => string }>
>

// The order of a list; without it newest first.
export function sortFilters(names: readonly string[]): Filters {
  return {
    sort: { value: 'ORDER', about: `${names.join(', ')} (default: newest first)`, values: names },
    order: {
      value: 'DIRECTION',
      about: 'asc or desc (default: asc for names, desc for others)',
      values: ['asc', 'desc'],
    },
  }
}

export function listCommand(
  help: Help,
  of: ListShape & { readonly filters?: Filters; path(input: Input): string },
): Command {
  const { filters = {}, path, ...shape } = of
  return clientCommand({ ...help, options: { ...filters, ...PAGE_OPTIONS }, hasRows: true }, async (input, client) =>
    showList(client, `${path(input)}?${filterQuery(input, filters)}`, shape, input),
  )
}

export function filterQuery(input: Input, filters: Filters): URLSearchParams {
  const query = new URLSearchParams()
  for (const [option, { query: name = option, multiple, written }] of Object.entries(filters)) {
    const values = multiple === true ? (input.texts(option) ?? []) : [input.text(option)]
    for (const value of values) if (value !== undefined) query.append(name, written?.(value) ?? value)
  }
  return query
}

// Builds `/keys/key_x` from the first argument.
export function pathOf(collection: string, input: Input, rest = ''): string {
  return `/${collection}/${encodeURIComponent(input.args[0] ?? '')}${rest}`
}

// The subcommands that providers and models share: show, update and delete.
type Entry = {
  readonly collection: 'models' | 'providers'
  readonly noun: 'model' | 'provider'
  // The help text and the example of each subcommand.
  readonly about: Readonly<Record<'show' | 'update' | 'delete', readonly [about: string, example: string]>>
  readonly options: Readonly<Record<string, Option>>
  fields(input: Input): Json
}

export function entryCommands({ collection, noun, about, options, fields }: Entry) {
  const help = (verb: keyof Entry['about']) => ({
    usage: `${collection} ${verb} ID${verb === 'show' ? '' : ' [options]'}`,
    about: about[verb][0],
    examples: [about[verb][1]],
    takes: [1, 1] as const,
  })
  return {
    show: callCommand(help('show'), input => ({ method: 'GET', path: pathOf(collection, input) })),
    update: callCommand(
      { ...help('update'), options: { ...options, ...SET_OPTIONS, ...CHANGE_OPTIONS, ...VERSION_OPTION } },
      input => ({
        method: 'PATCH',
        path: pathOf(collection, input),
        body: something(readDocument(input, fields(input))),
        headers: ifMatch(input),
      }),
    ),
    delete: callCommand({ ...help('delete'), options: VERSION_OPTION, confirms: `Delete the ${noun}` }, input => ({
      method: 'DELETE',
      path: pathOf(collection, input),
      headers: ifMatch(input),
    })),
  } satisfies Readonly<Record<keyof Entry['about'], Command>>
}
