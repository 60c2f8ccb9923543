// The command line: loads the requested command only, and turns errors into messages and exit codes: 0 success, 1 failure,
// 2 usage or configuration error.
import { styleText } from 'node:util'
import { version } from '../lib/version.ts'
import { BadUsage, type Command, Failed, runCommand } from './command.ts'
import { wrap } from './output.ts'

type Group = { readonly about: string; load(): Promise<{ readonly commands: Readonly<Record<string, Command>> }> }

// A group with one command of the empty name is that command; the others have subcommands.
const GROUPS: Readonly<Record<string, Group>> = {
  serve: { about: 'start the gateway', load: () => import('./commands/serve.ts') },
  keys: {
    about: 'manage API keys',
    load: () => import('./commands/keys.ts'),
  },
  accounts: { about: 'manage accounts and show ledgers', load: () => import('./commands/accounts.ts') },
  credits: { about: 'add credits to an account', load: () => import('./commands/credits.ts') },
  providers: {
    about: 'manage providers and credentials, show health',
    load: () => import('./commands/providers.ts'),
  },
  models: { about: 'manage models and import list prices', load: () => import('./commands/models.ts') },
  apply: {
    about: 'apply the configuration file to the running gateway',
    load: () => import('./commands/apply.ts'),
  },
  nodes: { about: 'list the nodes that share the database', load: () => import('./commands/nodes.ts') },
  usage: { about: 'list, show and export usage records', load: () => import('./commands/usage.ts') },
  chat: { about: 'chat with a model from the shell', load: () => import('./commands/chat.ts') },
  webhooks: { about: 'send events to other systems, show deliveries', load: () => import('./commands/webhooks.ts') },
  operators: { about: 'manage operators', load: () => import('./commands/operators.ts') },
  sessions: { about: 'list and end dashboard sessions', load: () => import('./commands/sessions.ts') },
  events: { about: 'show the audit log', load: () => import('./commands/events.ts') },
  settings: { about: 'show the settings of the running gateway', load: () => import('./commands/settings.ts') },
  config: { about: 'check the configuration', load: () => import('./commands/config-check.ts') },
  audit: { about: 'verify ledger integrity', load: () => import('./commands/audit.ts') },
  backup: { about: 'back up the SQLite database; safe while running', load: () => import('./commands/backup.ts') },
  'forget-credentials': {
    about: 'delete stored credentials after losing the encryption key',
    load: () => import('./commands/forget-credentials.ts'),
  },
  migrate: { about: 'migrate an installation from SQLite to Postgres', load: () => import('./commands/migrate.ts') },
  restore: { about: 'restore a backup into an empty data directory', load: () => import('./commands/restore.ts') },
}

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
  const [name, ...rest] = argv
  try {
    if (name === undefined || name === 'help' || name === '--help' || name === '-h')
      return await help(name === 'help' ? rest[0] : undefined, name !== undefined)
    if (name === '--version' || name === 'version') return print(`${version()}\n`, true)
    return await runGroup(name, rest)
  } catch (error) {
    return explain(error)
  }
}

async function runGroup(name: string, rest: readonly string[]): Promise<number> {
  const group = Object.hasOwn(GROUPS, name) ? GROUPS[name] : undefined
  if (group === undefined) throw new BadUsage(`unknown command "${name}"; run turnpike --help`)
  const { commands } = await group.load()
  const single = commands['']
  if (single !== undefined) return runCommand(single, rest)

  const [verb, ...args] = rest
  if (verb === '--help' || verb === '-h') return print(groupHelp(name, commands), true)
  const command = verb !== undefined && Object.hasOwn(commands, verb) ? commands[verb] : undefined
  if (command === undefined)
    throw new BadUsage(
      `${verb === undefined ? 'missing command' : `unknown command "${name} ${verb}"`}; turnpike ${name} has: ${Object.keys(commands).join(', ')}`,
    )
  return runCommand(command, args)
}

// Compares names instead of classes, so that modules are not loaded only to recognise their errors.
function explain(error: unknown): number {
  if (!(error instanceof Error)) throw error
  const wrong = error instanceof BadUsage || error.name === 'BadConfig'
  // System errors already name the operation and the file.
  const isSystemError = 'syscall' in error
  const known = wrong || isSystemError || error instanceof Failed || error.name === 'NotAuditable'
  process.stderr.write(
    `${styleText('red', 'turnpike:', { stream: process.stderr })} ${known ? error.message : error.stack}\n`,
  )
  return wrong ? 2 : 1
}

function print(text: string, asked: boolean): number {
  const stream = asked ? process.stdout : process.stderr
  stream.write(text)
  return asked ? 0 : 2
}

async function help(name: string | undefined, asked: boolean): Promise<number> {
  return name === undefined ? print(overview(), asked) : runGroup(name, ['--help'])
}

function overview(): string {
  const lines = Object.entries(GROUPS).map(([name, group]) => `  ${name.padEnd(20)}${group.about}`)
  return `${styleText('bold', 'turnpike')} – a chat routing gateway\n\n${lines.join('\n')}\n\nRun "turnpike COMMAND --help" for details, "turnpike --version" for the version.\nConfigure with TURNPIKE_* variables and turnpike.yaml.\nExit codes: 0 success, 1 failure, 2 usage or configuration error.\n`
}

function groupHelp(name: string, commands: Readonly<Record<string, Command>>): string {
  const lines = Object.values(commands).map(
    command => `  ${wrap(`turnpike ${command.usage}`, 4)}\n      ${wrap(command.about, 6)}\n`,
  )
  return `${styleText('bold', `turnpike ${name}`)}\n\n${lines.join('')}`
}
