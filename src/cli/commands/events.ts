// `turnpike events list`: operators' actions, when and from where.
import { listCommand } from '../call-command.ts'
import type { Command } from '../command.ts'

export const commands: Readonly<Record<string, Command>> = {
  list: listCommand(
    { usage: 'events list [options]', about: "Lists operators' actions, newest first." },
    {
      path: () => '/events',
      columns: ['at', 'actor', 'action', 'subject', 'address', 'detail', 'actor_id', 'id'],
      filters: {
        actor: { value: 'NAME', about: 'of one operator' },
        action: { value: 'ACTION', about: 'such as key.revoke, or key for all on keys' },
        subject: { value: 'ID', about: 'on this key, account, …' },
        from: { value: 'TIME', about: 'not before this time' },
        to: { value: 'TIME', about: 'before this time' },
      },
    },
  ),
}
