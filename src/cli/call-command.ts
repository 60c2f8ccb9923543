// Builds commands that are one call of the admin API: shared options, client and output.

import type { Command, Input, Option } from './command.ts'
import { PAGE_OPTIONS, showList, showOne } from './document.ts'
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

// An option that filters a list; `query` is its name in the API, where that differs.
export type Filters = Readonly<Record<string, Option & { readonly query?: string }>>

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
  for (const [option, { query: name = option }] of Object.entries(filters)) {
    const value = input.text(option)
    if (value !== undefined) query.set(name, value)
  }
  return query
}

// Builds `/keys/key_x` from the first argument.
export function pathOf(collection: string, input: Input, rest = ''): string {
  return `/${collection}/${encodeURIComponent(input.args[0] ?? '')}${rest}`
}
