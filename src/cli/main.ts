// The command line: loads the requested command only, and turns errors into messages and exit codes: 0 success, 1 failure,
// 2 usage or configuration error.
import { debuglog, styleText } from 'node:util'
import { escapeUnseen } from '../lib/text.ts'
import { version } from '../lib/version.ts'
import { asksForHelp, readInput } from './arguments.ts'
import { BadUsage, type Command, Failed, optionsOf } from './command.ts'
import { GROUPS } from './command-table.ts'
import { groupHelp, helpFor } from './help.ts'
import { didYouMean, suggest } from './suggest.ts'

let hasReported = false
for (const stream of [process.stdout, process.stderr]) stream.on('error', onOutputError)
const code = await main(process.argv.slice(2))
// A failed command must exit even if a listener or thread would keep the process alive.
if (code !== 0) process.exit(code)

// When the reader of a pipe has closed it (`| head`), the command runs to its end without output. Other write errors, such as
// a full disk, are reported once, because the report may fail in the same way.
function onOutputError(error: NodeJS.ErrnoException): void {
  process.exitCode = 1
  if (error.code === 'EPIPE' || error.code === 'EIO' || hasReported) return
  hasReported = true
  process.stderr.write(`turnpike: cannot write output: ${error.message}\n`)
}

async function main(argv: readonly string[]): Promise<number> {
  try {
    const { leading, rest } = takeLeading(argv)
    const [name, ...words] = rest
    if (name === undefined || name === '--help' || name === '-h') return print(overview())
    if (name === 'help') return await help(words)
    if (name === '--version' || name === '-v' || name === 'version') return print(`${version()}\n`)
    return await runGroup(name, words, leading)
  } catch (error) {
    return explain(error)
  }
}

// `--url` and `--profile` may precede the command.
function takeLeading(argv: readonly string[]): { leading: readonly string[]; rest: readonly string[] } {
  let at = 0
  while (at < argv.length && /^--(?:url|profile)(?:=|$)/.test(argv[at] ?? '')) at += argv[at]?.includes('=') ? 1 : 2
  return { leading: argv.slice(0, at), rest: argv.slice(at) }
}

async function runGroup(name: string, rest: readonly string[], leading: readonly string[]): Promise<number> {
  const group = Object.hasOwn(GROUPS, name) ? GROUPS[name] : undefined
  if (group === undefined) {
    const known = Object.keys(GROUPS)
    const hint = suggest(name, known) === undefined ? '; run turnpike --help' : didYouMean(name, known, 'turnpike ')
    throw new BadUsage(`unknown command "${name}"${hint}`)
  }
  const { commands } = await group.load()
  const single = commands['']
  if (single !== undefined) return runCommand(single, [...leading, ...rest])

  const [verb, ...args] = rest
  if (verb === undefined || verb === '--help' || verb === '-h') return print(groupHelp(name, group.about, commands))
  const command = Object.hasOwn(commands, verb) ? commands[verb] : undefined
  if (command === undefined) {
    const known = Object.keys(commands)
    const hint = didYouMean(verb, known, `turnpike ${name} `)
    throw new BadUsage(`unknown command "${name} ${verb}"${hint}\nturnpike ${name} has: ${known.join(', ')}`)
  }
  return runCommand(command, [...leading, ...args])
}

async function runCommand(command: Command, argv: readonly string[]): Promise<number> {
  if (asksForHelp(argv)) return print(helpFor(command))
  const input = readInput(command, argv)
  return 'url' in optionsOf(command) ? command.run(input).catch(unreadable) : command.run(input)
}

// Fields that are missing in an answer of a gateway show as such errors: it is of another version, or no gateway.
function unreadable(error: unknown): never {
  if (!(error instanceof TypeError || error instanceof RangeError)) throw error
  debuglog('turnpike')('%s', error.stack)
  throw new Failed(
    'the gateway sent an unexpected response; check its URL and version with "turnpike doctor" (details: NODE_DEBUG=turnpike)',
  )
}

// `help`, `help keys` and `help keys create`.
async function help([name, ...words]: readonly string[]): Promise<number> {
  return name === undefined ? print(overview()) : runGroup(name, [...words.slice(0, 1), '--help'], [])
}

// Compares names instead of classes, so that modules are not loaded only to recognise their errors.
function explain(error: unknown): number {
  if (!(error instanceof Error)) throw error
  const wrong = error instanceof BadUsage || error.name === 'BadConfig'
  // System errors already name the operation and the file.
  const isSystemError = 'syscall' in error
  const known = wrong || isSystemError || error instanceof Failed || error.name === 'NotAuditable'
  // Messages of the gateway may have names of others in them.
  const text = known ? error.message : (error.stack ?? error.message)
  const lines = text.split('\n').map(escapeUnseen).join('\n')
  process.stderr.write(`${styleText('red', 'turnpike:', { stream: process.stderr })} ${lines}\n`)
  return wrong ? 2 : 1
}

function print(text: string): number {
  process.stdout.write(text)
  return 0
}

function overview(): string {
  const lines = Object.entries(GROUPS).map(([name, group]) => `  ${name.padEnd(20)}${group.about}\n`)
  return `${styleText('bold', 'turnpike')} – a chat routing gateway

Commands:
${lines.join('')}
Examples:
  turnpike serve
  turnpike login --url https://gateway.example.com
  turnpike accounts create acme --credits 100 --key production
  turnpike usage summary --by account --this-month

Run "turnpike help COMMAND" for details, "turnpike --version" for the version.
Configure the gateway with TURNPIKE_* variables and turnpike.yaml.
Exit codes: 0 success, 1 failure, 2 usage or configuration error.
`
}
