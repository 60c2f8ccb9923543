// `turnpike events list`: the audit log.
import { listCommand } from '../call-command.ts'
import type { Command } from '../command.ts'

export const commands: Readonly<Record<string, Command>> = {
  list: listCommand(
    {
      usage: 'events list [options]',
      about: 'Lists the actions of operators, newest first.',
      examples: ['turnpike events list --action key.revoke', 'turnpike events list --actor dana --from 2026-11-01'],
    },
    {
      path: () => '/events',
      columns: ['at', 'actor', 'action', 'subject', 'address', 'detail', 'actor_id', 'id'],
      first: ['at', 'action', 'subject', 'actor', 'detail', 'address', 'id', 'actor_id'],
      filters: {
        actor: { value: 'NAME', about: 'only this operator' },
        action: { value: 'ACTION', about: 'only this action, such as key.revoke, or key for all actions on keys' },
        subject: { value: 'ID', about: 'only this key, account or other object' },
        from: { value: 'TIME', about: 'at or after this time' },
        to: { value: 'TIME', about: 'before this time' },
      },
    },
  ),
}
