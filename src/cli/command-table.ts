// The table of commands: what each is for, and the module that has it, which is loaded only when it is needed.
import type { Groups } from './command.ts'

// A group with one command of the empty name is that command; the others have subcommands.
export const GROUPS: Groups = {
  serve: { about: 'start the gateway', load: () => import('./commands/serve.ts') },
  login: { about: 'save the URL and the token of a gateway', load: () => import('./commands/login.ts') },
  logout: { about: 'remove a saved token', load: () => import('./commands/logout.ts') },
  profiles: { about: 'list saved gateways and choose one', load: () => import('./commands/profiles.ts') },
  status: { about: 'show the gateway and its last 24 hours', load: () => import('./commands/status.ts') },
  doctor: { about: 'find problems of this machine and the gateway', load: () => import('./commands/doctor.ts') },
  open: { about: 'open the dashboard', load: () => import('./commands/open.ts') },
  keys: { about: 'manage API keys', load: () => import('./commands/keys.ts') },
  accounts: { about: 'manage accounts and show ledgers', load: () => import('./commands/accounts.ts') },
  credits: { about: 'add credits to an account', load: () => import('./commands/credits.ts') },
  'portal-link': { about: 'open the portal of a customer', load: () => import('./commands/portal-link.ts') },
  providers: {
    about: 'manage providers and credentials, show health',
    load: () => import('./commands/providers.ts'),
  },
  models: { about: 'manage models and their prices', load: () => import('./commands/models.ts') },
  targets: { about: 'show, test, disable and enable targets', load: () => import('./commands/targets.ts') },
  apply: {
    about: 'apply the configuration file to the running gateway',
    load: () => import('./commands/apply.ts'),
  },
  usage: { about: 'list, show, sum and export usage records', load: () => import('./commands/usage.ts') },
  search: {
    about: 'find accounts, keys, models and requests',
    load: () => import('./commands/search.ts'),
  },
  logs: { about: 'print requests, and follow new ones', load: () => import('./commands/logs.ts') },
  chat: { about: 'chat with a model from the shell', load: () => import('./commands/chat.ts') },
  quote: { about: 'show what a chat would cost', load: () => import('./commands/quote.ts') },
  webhooks: { about: 'send events to other systems, show deliveries', load: () => import('./commands/webhooks.ts') },
  operators: { about: 'manage operators', load: () => import('./commands/operators.ts') },
  sessions: { about: 'list and end dashboard sessions', load: () => import('./commands/sessions.ts') },
  events: { about: 'show the audit log', load: () => import('./commands/events.ts') },
  nodes: { about: 'list the nodes that share the database', load: () => import('./commands/nodes.ts') },
  settings: { about: 'show the settings of the running gateway', load: () => import('./commands/settings.ts') },
  config: { about: 'check the configuration', load: () => import('./commands/config-check.ts') },
  audit: { about: 'verify ledger integrity', load: () => import('./commands/audit.ts') },
  backup: { about: 'back up the SQLite database; safe while running', load: () => import('./commands/backup.ts') },
  restore: { about: 'restore a backup into an empty data directory', load: () => import('./commands/restore.ts') },
  migrate: { about: 'migrate an installation from SQLite to Postgres', load: () => import('./commands/migrate.ts') },
  'forget-credentials': {
    about: 'delete stored credentials after losing the encryption key',
    load: () => import('./commands/forget-credentials.ts'),
  },
  completion: {
    about: 'print a completion script for a shell',
    load: async () => (await import('./commands/completion.ts')).completionOf(GROUPS),
  },
}
