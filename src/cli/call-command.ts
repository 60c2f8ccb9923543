// Builds commands that are one call of the admin API: shared options, client and output.
import type { Command, Input, Option } from './command.ts'
import {
  CHANGE_OPTIONS,
  ifMatch,
  PAGE_OPTIONS,
  readDocument,
  SET_OPTIONS,
  showList,
  showOne,
  something,
  VERSION_OPTION,
} from './document.ts'
import { CLIENT_HELP, CLIENT_OPTIONS, type Client, type Json, openClient } from './http-client.ts'

export type Call = {
  readonly method: Parameters<Client['call']>[0]
  readonly path: string
  readonly body?: Json | undefined
  readonly headers?: Readonly<Record<string, string>>
}

type Help = Pick<Command, 'usage' | 'about' | 'options' | 'takes'>

export function callCommand(help: Help, call: (input: Input) => Call | Promise<Call>): Command {
  return clientCommand(help, async input => {
    const { method, path, body, headers } = await call(input)
    return showOne(await (await openClient(input)).call(method, path, body, headers), input)
  })
}

// For commands that make several calls or show several objects.
export function clientCommand({ options, ...help }: Help, run: Command['run']): Command {
  return { ...help, options: { ...options, ...CLIENT_OPTIONS }, more: CLIENT_HELP, run }
}

// An option that filters a list; `query` is its name in the API, where that differs, and `written` its value.
export type Filters = Readonly<
  Record<string, Option & { readonly query?: string; readonly written?: (text: string) => string }>
>

export function listCommand(
  help: Help,
  of: { readonly columns: readonly string[]; readonly filters?: Filters; path(input: Input): string },
): Command {
  const { columns, filters = {}, path } = of
  return clientCommand({ ...help, options: { ...filters, ...PAGE_OPTIONS } }, async input =>
    showList(await openClient(input), `${path(input)}?${filterQuery(input, filters)}`, columns, input),
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
  // The help text of each subcommand.
  readonly about: Readonly<Record<'show' | 'update' | 'delete', string>>
  readonly options: Readonly<Record<string, Option>>
  fields(input: Input): Json
}

export function entryCommands({
  collection,
  about,
  options,
  fields,
}: Entry): Readonly<Record<keyof Entry['about'], Command>> {
  return {
    show: callCommand({ usage: `${collection} show ID`, about: about.show, takes: [1, 1] }, input => ({
      method: 'GET',
      path: pathOf(collection, input),
    })),
    update: callCommand(
      {
        usage: `${collection} update ID [options]`,
        about: about.update,
        options: { ...options, ...SET_OPTIONS, ...CHANGE_OPTIONS, ...VERSION_OPTION },
        takes: [1, 1],
      },
      input => ({
        method: 'PATCH',
        path: pathOf(collection, input),
        body: something(readDocument(input, fields(input))),
        headers: ifMatch(input),
      }),
    ),
    delete: callCommand(
      { usage: `${collection} delete ID [options]`, about: about.delete, options: VERSION_OPTION, takes: [1, 1] },
      input => ({ method: 'DELETE', path: pathOf(collection, input), headers: ifMatch(input) }),
    ),
  }
}
