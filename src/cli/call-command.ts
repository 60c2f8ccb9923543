// Commands that are one call of the admin API: each defines its request; the client, its options and the output are shared.

import type { Command, Input, Option } from './command.ts'
import { PAGE_OPTIONS, showList, showOne } from './document.ts'
import { CLIENT_HELP, CLIENT_OPTIONS, type Client, type Json, openClient } from './http-client.ts'

export type Call = {
  readonly method: Parameters<Client['call']>[0]
  readonly path: string
  readonly body?: Json | undefined
  readonly headers?: Readonly<Record<string, string>>
}

type Words = Pick<Command, 'usage' | 'about' | 'options' | 'takes'>

export function callCommand(words: Words, call: (input: Input) => Call | Promise<Call>): Command {
  return clientCommand(words, async input => {
    const { method, path, body, headers } = await call(input)
    return showOne(await (await openClient(input)).call(method, path, body, headers), input)
  })
}

// The same for a command that makes more than one call, or shows more than one object.
export function clientCommand({ options, ...words }: Words, run: Command['run']): Command {
  return { ...words, options: { ...options, ...CLIENT_OPTIONS }, more: CLIENT_HELP, run }
}

// A filter is an option; `query` is its name in the API, if it differs.
export type Filters = Readonly<Record<string, Option & { readonly query?: string }>>

export function listCommand(
  words: Words,
  of: { readonly columns: readonly string[]; readonly filters?: Filters; path(input: Input): string },
): Command {
  const { columns, filters = {}, path } = of
  return clientCommand({ ...words, options: { ...filters, ...PAGE_OPTIONS } }, async input =>
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

// `/keys/key_x`, from the first argument.
export function pathOf(room: string, input: Input, rest = ''): string {
  return `/${room}/${encodeURIComponent(input.args[0] ?? '')}${rest}`
}
