// The base of all commands: strict option parsing, generated help, and usage errors.
import { type ParseArgsOptionsConfig, parseArgs, styleText } from 'node:util'
import { wrap } from './output.ts'

export type Option = {
  readonly about: string
  // The placeholder of the value in the help; an option without it is a flag.
  readonly value?: string
  readonly multiple?: boolean
}

export type Command = {
  readonly usage: string
  readonly about: string
  readonly options?: Readonly<Record<string, Option>>
  // Printed below the options.
  readonly more?: string
  // The number of positional arguments.
  readonly takes?: readonly [min: number, max: number]
  // Set for commands without JSON output.
  readonly withoutJson?: true
  // Returns the exit code: 0 success, 1 failure.
  run(input: Input): Promise<number>
}

export type Input = {
  readonly args: readonly string[]
  readonly json: boolean
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

  constructor(message: string, unsure = false) {
    super(message)
    this.unsure = unsure
  }
}

const JSON_OPTION: Readonly<Record<string, Option>> = { json: { about: 'print JSON' } }
const HELP_OPTION: Readonly<Record<string, Option>> = { help: { about: 'show this help' } }

export async function runCommand(command: Command, argv: readonly string[]): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) {
    process.stdout.write(helpFor(command))
    return 0
  }
  return command.run(readInput(command, argv))
}

function optionsOf({ options, withoutJson }: Command): Readonly<Record<string, Option>> {
  return { ...options, ...(withoutJson ? {} : JSON_OPTION), ...HELP_OPTION }
}

function readInput(command: Command, argv: readonly string[]): Input {
  const options: ParseArgsOptionsConfig = {}
  for (const [name, option] of Object.entries(optionsOf(command))) {
    options[name] = { type: option.value === undefined ? 'boolean' : 'string', multiple: option.multiple ?? false }
  }
  const { values, positionals } = parseStrictly(argv, options, command)
  const [min, max] = command.takes ?? [0, 0]
  if (positionals.length < min) throw wrong(command, `missing argument: ${argumentName(command, positionals.length)}`)
  if (positionals.length > max) throw wrong(command, `unexpected argument: ${positionals[max]}`)
  return {
    args: positionals,
    json: values.json === true,
    text: name => (typeof values[name] === 'string' ? values[name] : undefined),
    texts: name => (Array.isArray(values[name]) ? values[name].map(String) : undefined),
    flag: name => values[name] === true,
  }
}

function parseStrictly(argv: readonly string[], options: ParseArgsOptionsConfig, command: Command) {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true, strict: true })
  } catch (error) {
    throw wrong(command, error instanceof Error ? (error.message.split('. ')[0] ?? '') : 'invalid options')
  }
}

// The name of a positional argument, such as ID in `keys show ID`.
function argumentName({ usage }: Command, index: number): string {
  return usage.match(/(?<=\s)\[?[A-Z_]{2,}\b\]?(?=\s|$)/g)?.[index] ?? 'an argument'
}

function wrong(command: Command, what: string): BadUsage {
  return new BadUsage(`${what}\nusage: turnpike ${command.usage}`)
}

function helpFor(command: Command): string {
  const options = Object.entries(optionsOf(command)).map(([name, option]) => {
    return [`--${name}${option.value === undefined ? '' : ` ${option.value}`}`, option.about] as const
  })
  const width = Math.max(...options.map(([left]) => left.length))
  const lines = options.map(([left, about]) => `  ${left.padEnd(width)}  ${wrap(about, width + 4)}`)
  const more = command.more === undefined ? '' : `\n${wrap(command.more)}\n`
  return `${styleText('bold', wrap(`turnpike ${command.usage}`, 2))}\n\n${wrap(command.about)}\n\n${lines.join('\n')}\n${more}`
}

// Reads a secret from the first line of stdin, or all of stdin.
export async function lineFromStdin(charsMax: number): Promise<string> {
  return (await read(charsMax, text => text.includes('\n'))).split('\n')[0]?.trim() ?? ''
}

export async function allOfStdin(charsMax: number): Promise<string> {
  const text = await read(charsMax, () => false)
  if (text.length > charsMax) throw new BadUsage(`stdin has more than ${charsMax} characters`)
  return text
}

async function read(charsMax: number, isEnough: (text: string) => boolean): Promise<string> {
  let text = ''
  process.stdin.setEncoding('utf8')
  for await (const chunk of process.stdin) {
    text += String(chunk)
    if (isEnough(text) || text.length > charsMax) break
  }
  return text
}
