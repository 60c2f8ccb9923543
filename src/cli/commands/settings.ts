// `turnpike settings`: the settings of the running gateway, without secrets.
import { callCommand } from '../call-command.ts'
import type { Command } from '../command.ts'

export const commands: Readonly<Record<string, Command>> = {
  '': callCommand(
    {
      usage: 'settings',
      about: 'Shows the settings of the running gateway.',
      examples: ['turnpike settings', 'turnpike settings --json'],
    },
    () => ({ method: 'GET', path: '/settings' }),
  ),
}
