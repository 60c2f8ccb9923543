// The base of all commands: what a command is, what it gets, and its errors.

export type Option = {
  readonly about: string
  // The placeholder of the value in the help; an option without it is a flag.
  readonly value?: string
  readonly multiple?: boolean
  // A single letter: `-o`.
  readonly short?: string
  // The values to choose from, for completion; `profiles`: the names of the profiles.
  readonly values?: readonly string[] | 'profiles'
  // Its value may be a name instead of an ID.
  readonly names?: Noun
}

// The kinds of objects that can be named instead of giving their ID.
export type Noun = 'account' | 'key' | 'operator' | 'webhook'

export type Command = {
  readonly usage: string
  readonly about: string
  // Whole command lines, shown in the help.
  readonly examples: readonly string[]
  readonly options?: Readonly<Record<string, Option>>
  // Options that many commands have, shown after its own.
  readonly commonOptions?: Readonly<Record<string, Option>>
  // Printed below the options.
  readonly more?: string
  // The number of positional arguments.
  readonly takes?: readonly [min: number, max: number]
  // The first argument may be a name instead of an ID.
  readonly names?: Noun
  // Its result has rows: they can be printed as CSV, with chosen columns, or as IDs alone.
  readonly hasRows?: true
  // Set for commands without JSON output.
  readonly withoutJson?: true
  // Returns the exit code: 0 success, 1 failure.
  run(input: Input): Promise<number>
}

export const FORMATS = ['table', 'wide', 'json', 'csv', 'tsv'] as const
export type Format = (typeof FORMATS)[number]

export type Input = {
  readonly args: readonly string[]
  readonly json: boolean
  // Undefined: a table on a terminal, tab-separated in a pipe.
  readonly format: Format | undefined
  text(name: string): string | undefined
  texts(name: string): readonly string[] | undefined
  flag(name: string): boolean
}

// A usage error: printed on stderr, exit code 2.
export class BadUsage extends Error {
  override readonly name = 'BadUsage'
}

// A failure: printed on stderr, exit code 1.
export class Failed extends Error {
  override readonly name = 'Failed'
  // No reliable response was received, so the change may have been made.
  readonly unsure: boolean
  // Of an error response.
  readonly status: number | undefined

  constructor(message: string, unsure = false, status?: number) {
    super(message)
    this.unsure = unsure
    this.status = status
  }
}

const JSON_OPTIONS: Readonly<Record<string, Option>> = {
  'output-format': { short: 'o', value: 'FORMAT', about: 'table or json', values: ['table', 'json'] },
  json: { about: 'print JSON, like -o json' },
}
const ROW_OPTIONS: Readonly<Record<string, Option>> = {
  'output-format': {
    short: 'o',
    value: 'FORMAT',
    about: 'table, wide (all columns), json, csv or tsv',
    values: FORMATS,
  },
  json: { about: 'print JSON, like -o json' },
  columns: { value: 'A,B,C', about: 'print these columns' },
  quiet: { short: 'q', about: 'print IDs only' },
}
const HELP_OPTION: Readonly<Record<string, Option>> = { help: { short: 'h', about: 'show this help' } }

// The options of a command's own, and those that others have too.
export function ownOptions({ options = {} }: Command): Readonly<Record<string, Option>> {
  return options
}

export function commonOptions({ commonOptions, withoutJson, hasRows }: Command): Readonly<Record<string, Option>> {
  return { ...commonOptions, ...(withoutJson ? {} : hasRows ? ROW_OPTIONS : JSON_OPTIONS), ...HELP_OPTION }
}

export function optionsOf(command: Command): Readonly<Record<string, Option>> {
  return { ...commonOptions(command), ...ownOptions(command) }
}

export type Group = {
  readonly about: string
  load(): Promise<{ readonly commands: Readonly<Record<string, Command>> }>
}

// A group with one command of the empty name is that command; the others have subcommands.
export type Groups = Readonly<Record<string, Group>>

export type Entry = { readonly words: readonly string[]; readonly about: string; readonly command: Command }

// Every command with the words that call it.
export async function allCommands(groups: Groups): Promise<readonly Entry[]> {
  const entries = await Promise.all(
    Object.entries(groups).map(async ([name, { about, load }]) => {
      const { commands } = await load()
      return Object.entries(commands).map(([verb, command]) =>
        verb === '' ? { words: [name], about, command } : { words: [name, verb], about: command.about, command },
      )
    }),
  )
  return entries.flat()
}
