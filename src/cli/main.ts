// The command line: finds the command, loads nothing else, and converts errors to messages and exit codes: 0 success, 1 failure
// or a violated invariant, 2 wrong usage or configuration.
import { styleText } from 'node:util'
import { version } from '../lib/version.ts'
import { BadUsage, type Command, Failed, runCommand } from './command.ts'

type Group = { readonly about: string; load(): Promise<{ readonly commands: Readonly<Record<string, Command>> }> }

// A group with one command of the empty name is that command; the others take a subcommand.
const GROUPS: Readonly<Record<string, Group>> = {
  serve: { about: 'start the gateway', load: () => import('./commands/serve.ts') },
  keys: {
    about: 'create, list, show, update, rotate, end-grace, reset-day, revoke',
    load: () => import('./commands/keys.ts'),
  },
  accounts: { about: 'list, show, create, update, ledger', load: () => import('./commands/accounts.ts') },
  credits: { about: 'add credits to an account', load: () => import('./commands/credits.ts') },
  providers: {
    about: 'list, show, create, update, delete, add-credential, remove-credential, health',
    load: () => import('./commands/providers.ts'),
  },
  models: { about: 'list, show, create, update, delete, import', load: () => import('./commands/models.ts') },
  apply: {
    about: 'put the configuration file in force in the running gateway',
    load: () => import('./commands/apply.ts'),
  },
  nodes: { about: 'list the nodes that share the database', load: () => import('./commands/nodes.ts') },
  usage: { about: 'list, show, export: what requests did and cost', load: () => import('./commands/usage.ts') },
  chat: { about: 'chat with a model from the shell', load: () => import('./commands/chat.ts') },
  operators: { about: 'list, create, update, rotate, remove', load: () => import('./commands/operators.ts') },
  sessions: { about: 'list, end', load: () => import('./commands/sessions.ts') },
  events: { about: 'list what operators did', load: () => import('./commands/events.ts') },
  settings: { about: 'show what the running gateway was started with', load: () => import('./commands/settings.ts') },
  config: { about: 'check the configuration without starting', load: () => import('./commands/config-check.ts') },
  audit: { about: 'prove that the books are right', load: () => import('./commands/audit.ts') },
  backup: { about: 'copy the store, also while the gateway runs', load: () => import('./commands/backup.ts') },
  'forget-credentials': {
    about: 'delete stored provider credentials whose key is lost',
    load: () => import('./commands/forget-credentials.ts'),
  },
  migrate: { about: 'move an installation from SQLite to Postgres', load: () => import('./commands/migrate.ts') },
  restore: { about: 'put a backup into an empty data dir', load: () => import('./commands/restore.ts') },
}

let hasTold = false
for (const stream of [process.stdout, process.stderr]) stream.on('error', unread)
const code = await main(process.argv.slice(2))
// A failed command must exit, even where a listener or a thread would keep the process alive.
if (code !== 0) process.exit(code)

// The reader of our output may have closed it (`| head`): the work is finished silently. Any other output error, such as a full
// disk, is reported once if possible, since the report may fail in the same way.
function unread(error: NodeJS.ErrnoException): void {
  process.exitCode = 1
  if (error.code === 'EPIPE' || error.code === 'EIO' || hasTold) return
  hasTold = true
  process.stderr.write(`turnpike: the output could not be written: ${error.message}\n`)
}

async function main(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv
  try {
    if (name === undefined || name === 'help' || name === '--help' || name === '-h')
      return say(overview(), name !== undefined)
    if (name === '--version' || name === 'version') return say(`${version()}\n`, true)
    return await runGroup(name, rest)
  } catch (error) {
    return explain(error)
  }
}

async function runGroup(name: string, rest: readonly string[]): Promise<number> {
  const group = Object.hasOwn(GROUPS, name) ? GROUPS[name] : undefined
  if (group === undefined) throw new BadUsage(`there is no command "${name}"; see turnpike --help`)
  const { commands } = await group.load()
  const single = commands['']
  if (single !== undefined) return runCommand(single, rest)

  const [verb, ...args] = rest
  if (verb === '--help' || verb === '-h') return say(verbs(name, commands), true)
  const command = verb !== undefined && Object.hasOwn(commands, verb) ? commands[verb] : undefined
  if (command === undefined) throw new BadUsage(`turnpike ${name} takes one of: ${Object.keys(commands).join(', ')}`)
  return runCommand(command, args)
}

// By name and not by class, so that no command's modules are loaded only to recognise its errors.
function explain(error: unknown): number {
  if (!(error instanceof Error)) throw error
  const wrong = error instanceof BadUsage || error.name === 'BadConfig'
  // A system error names the call and the file itself.
  const isSystems = 'syscall' in error
  const known = wrong || isSystems || error instanceof Failed || error.name === 'NotAuditable'
  process.stderr.write(
    `${styleText('red', 'turnpike:', { stream: process.stderr })} ${known ? error.message : error.stack}\n`,
  )
  return wrong ? 2 : 1
}

function say(text: string, asked: boolean): number {
  const stream = asked ? process.stdout : process.stderr
  stream.write(text)
  return asked ? 0 : 2
}

function overview(): string {
  const lines = Object.entries(GROUPS).map(([name, group]) => `  ${name.padEnd(20)}${group.about}`)
  return `${styleText('bold', 'turnpike')} – a chat routing gateway\n\n${lines.join('\n')}\n\nEvery command has --help. Settings come from TURNPIKE_* variables and turnpike.yaml.\nExit codes: 0 all is well, 1 it failed or a promise is broken, 2 the call or the configuration is wrong.\n`
}

function verbs(name: string, commands: Readonly<Record<string, Command>>): string {
  const lines = Object.values(commands).map(command => `  turnpike ${command.usage}\n      ${command.about}\n`)
  return `${styleText('bold', `turnpike ${name}`)}\n\n${lines.join('')}`
}
