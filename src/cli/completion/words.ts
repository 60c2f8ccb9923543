// What completion scripts offer, from the table of commands.
import { allCommands, type Groups, optionsOf } from '../command.ts'

export type OptionWords = {
  readonly name: string
  readonly short: string | undefined
  readonly about: string
  readonly takesValue: boolean
  // Undefined: anything, such as a file name.
  readonly values: readonly string[] | 'profiles' | undefined
}

// A place in a command line: what can follow these words.
export type Place = {
  readonly words: readonly string[]
  readonly commands: readonly { readonly name: string; readonly about: string }[]
  readonly options: readonly OptionWords[]
}

// The shells that an argument of a command can name; other arguments are names and IDs.
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = { completion: ['bash', 'zsh', 'fish'] }

export async function completionWords(table: Groups): Promise<readonly Place[]> {
  const entries = await allCommands(table)
  const groups = Object.entries(table)
  const top: Place = {
    words: [],
    commands: [...groups.map(([name, { about }]) => ({ name, about })), { name: 'help', about: 'explain a command' }],
    options: [],
  }
  const help: Place = { words: ['help'], commands: groups.map(([name, { about }]) => ({ name, about })), options: [] }
  const inner = groups.flatMap(([name]) => {
    const below = entries.filter(({ words }) => words.length === 2 && words[0] === name)
    const commands = below.map(({ words, about }) => ({ name: words[1] ?? '', about: firstSentence(about) }))
    return below.length === 0 ? [] : [{ words: [name], commands, options: [] }]
  })
  const leaves = entries.map(({ words, command }) => ({
    words,
    commands: (ARGUMENTS[words.join(' ')] ?? []).map(name => ({ name, about: name })),
    options: Object.entries(optionsOf(command)).map(([name, { short, about, value, values }]) => ({
      name,
      short,
      about: firstSentence(about),
      takesValue: value !== undefined,
      values,
    })),
  }))
  return [top, help, ...inner, ...leaves]
}

// Options that take a value, wherever they are: the word after one is no command.
export function valueOptions(places: readonly Place[]): readonly string[] {
  const names = places.flatMap(({ options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .flatMap(({ name, short }) => [`--${name}`, ...(short === undefined ? [] : [`-${short}`])]),
  )
  return [...new Set(names)].sort()
}

function firstSentence(text: string): string {
  return text.split(/(?<=[^.]{4}\.)\s|\n|; /)[0]?.replace(/\.$/, '') ?? ''
}

export const PROFILES_COMMAND = 'turnpike profiles list -q 2>/dev/null'
