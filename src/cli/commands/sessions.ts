// `turnpike sessions …`: dashboard sessions.
import { callCommand, listCommand, pathOf } from '../call-command.ts'
import type { Command } from '../command.ts'

export const commands: Readonly<Record<string, Command>> = {
  list: listCommand(
    { usage: 'sessions list [options]', about: 'Lists open dashboard sessions, newest first.' },
    {
      path: () => '/sessions',
      columns: ['id', 'operator', 'address', 'created_at', 'last_used_at', 'idle_expires_at'],
    },
  ),
  end: callCommand(
    { usage: 'sessions end ID', about: 'Ends a session immediately on every node.', takes: [1, 1] },
    input => ({
      method: 'DELETE',
      path: pathOf('sessions', input),
    }),
  ),
}
