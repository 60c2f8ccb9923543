// Reads the arguments of a command: strictly, in one pass, and with a message that names what is wrong and what was meant. Values
// are not repeated in messages, because they may be secrets.
import { BadUsage, type Command, FORMATS, type Format, type Input, type Option, optionsOf } from './command.ts'
import { didYouMean } from './suggest.ts'

type Values = Map<string, string[]>

export function readInput(command: Command, argv: readonly string[]): Input {
  const { values, positionals } = parse(command, argv)
  const [min, max] = command.takes ?? [0, 0]
  if (positionals.length < min) throw wrong(command, `missing argument: ${argumentName(command, positionals.length)}`)
  if (positionals.length > max) throw wrong(command, `unexpected argument: ${positionals[max]}`)
  const format = formatOf(command, values)
  return {
    args: positionals,
    json: format === 'json',
    format,
    text: name => values.get(name)?.at(-1),
    texts: name => values.get(name),
    flag: name => values.has(name),
  }
}

// `--help` or `-h` before a `--`.
export function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  return (end < 0 ? argv : argv.slice(0, end)).some(arg => arg === '--help' || arg === '-h')
}

function parse(command: Command, argv: readonly string[]): { values: Values; positionals: string[] } {
  const options = optionsOf(command)
  const values: Values = new Map()
  const positionals: string[] = []
  for (let at = 0; at < argv.length; at++) {
    const arg = argv[at] ?? ''
    if (arg === '--') {
      positionals.push(...argv.slice(at + 1))
      break
    }
    if (!looksLikeOption(arg)) {
      positionals.push(arg)
      continue
    }
    const { written, name, value: attached } = findOption(command, options, arg)
    const option = options[name] as Option
    const given = values.get(name) ?? []
    values.set(name, given)
    if (option.value === undefined) {
      if (attached !== undefined) throw wrong(command, `${written} takes no value`)
    } else given.push(attached ?? valueAfter(command, written, option, argv[++at]))
  }
  return { values, positionals }
}

// A dash alone is standard input, and a negative number is a value.
function looksLikeOption(arg: string): boolean {
  return arg.startsWith('-') && arg !== '-' && !/^-\.?\d/.test(arg)
}

type Found = { readonly written: string; readonly name: string; readonly value: string | undefined }

function findOption(command: Command, options: Readonly<Record<string, Option>>, arg: string): Found {
  if (!arg.startsWith('--')) return findShort(command, options, arg)
  const equals = arg.indexOf('=')
  const written = equals < 0 ? arg : arg.slice(0, equals)
  const name = written.slice(2)
  if (!Object.hasOwn(options, name)) {
    throw wrong(command, `unknown option ${written}${didYouMean(name, Object.keys(options), '--')}`)
  }
  return { written, name, value: equals < 0 ? undefined : arg.slice(equals + 1) }
}

// `-o json` or `-ojson`.
function findShort(command: Command, options: Readonly<Record<string, Option>>, arg: string): Found {
  const written = arg.slice(0, 2)
  const found = Object.entries(options).find(([, { short }]) => short === arg[1])
  if (found === undefined) {
    const long = Object.keys(options).find(name => name === arg.slice(1))
    throw wrong(command, `unknown option ${written}${long === undefined ? '' : `; did you mean --${long}?`}`)
  }
  return { written, name: found[0], value: arg.length > 2 ? arg.slice(2).replace(/^=/, '') : undefined }
}

function valueAfter(command: Command, written: string, option: Option, next: string | undefined): string {
  if (next === undefined) throw wrong(command, `${written} needs a value: ${written} ${option.value}`)
  if (!looksLikeOption(next)) return next
  const hint = written.startsWith('--') ? `; write ${written}=VALUE if the value starts with a dash` : ''
  throw wrong(command, `${written} needs a value: ${written} ${option.value}${hint}`)
}

function formatOf(command: Command, values: Values): Format | undefined {
  const text = values.get('output-format')?.at(-1)
  if (text === undefined) return values.has('json') ? 'json' : undefined
  const allowed = optionsOf(command)['output-format']?.values ?? FORMATS
  const format = FORMATS.find(each => each === text)
  if (format === undefined || !allowed.includes(format))
    throw wrong(command, `-o must be one of ${[...allowed].join(', ')}`)
  return format
}

// The name of a positional argument, such as ID in `keys show ID`.
function argumentName({ usage }: Command, index: number): string {
  return usage.match(/(?<=\s)\[?[A-Z_]{2,}\b\]?(?=\s|$)/g)?.[index] ?? 'an argument'
}

function wrong(command: Command, what: string): BadUsage {
  return new BadUsage(`${what}\nusage: turnpike ${command.usage}`)
}
