// `turnpike sessions …`: dashboard sessions.
import { callCommand, listCommand, pathOf } from '../call-command.ts'
import type { Command } from '../command.ts'
import type { Json } from '../http-client.ts'

export const commands: Readonly<Record<string, Command>> = {
  list: listCommand(
    {
      usage: 'sessions list [options]',
      about: 'Lists open dashboard sessions, newest first.',
      examples: ['turnpike sessions list'],
    },
    {
      path: () => '/sessions',
      columns: ['id', 'operator', 'address', 'created_at', 'last_used_at', 'idle_expires_at'],
      extra: ['role', 'operator_id', 'expires_at'],
      derive: ({ operator }) => {
        const { id, name, role } = operator as Json
        return { operator: name, operator_id: id, role }
      },
    },
  ),
  end: callCommand(
    {
      usage: 'sessions end ID [options]',
      about: 'Ends a session immediately on every node.',
      examples: ['turnpike sessions end ses_0199c1b2…'],
      takes: [1, 1],
      confirms: 'End the session',
    },
    input => ({
      method: 'DELETE',
      path: pathOf('sessions', input),
    }),
  ),
}
