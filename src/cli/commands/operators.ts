// `turnpike operators …`: who may manage the gateway, through the admin API. A token is printed once, when it is made.
import { callCommand, listCommand, pathOf } from '../call-command.ts'
import { BadUsage, type Command } from '../command.ts'
import { something } from '../document.ts'

const ROLE = { value: 'ROLE', about: 'admin, or viewer who reads everything and changes nothing' }

export const commands: Readonly<Record<string, Command>> = {
  list: listCommand(
    { usage: 'operators list [options]', about: 'Lists operators. op_root is the one of TURNPIKE_ADMIN_TOKEN.' },
    { path: () => '/operators', columns: ['id', 'name', 'role', 'created_at', 'last_used_at'] },
  ),
  create: callCommand(
    {
      usage: 'operators create NAME --role ROLE',
      about: 'Adds an operator and prints the token, this once.',
      options: { role: ROLE },
      takes: [1, 1],
    },
    input => {
      const role = input.text('role')
      if (role === undefined) throw new BadUsage('say which role: --role admin or --role viewer')
      return { method: 'POST', path: '/operators', body: { name: input.args[0], role } }
    },
  ),
  update: callCommand(
    {
      usage: 'operators update ID [options]',
      about: 'Renames an operator or changes the role; in force with the next request of every session.',
      options: { name: { value: 'NAME', about: 'a new name' }, role: ROLE },
      takes: [1, 1],
    },
    input => ({
      method: 'PATCH',
      path: pathOf('operators', input),
      body: something({ name: input.text('name'), role: input.text('role') }),
    }),
  ),
  rotate: callCommand(
    {
      usage: 'operators rotate ID',
      about: 'Makes a new token and prints it, this once. The old one and its sessions end now.',
      takes: [1, 1],
    },
    input => ({ method: 'POST', path: pathOf('operators', input, '/rotate'), body: {} }),
  ),
  remove: callCommand(
    { usage: 'operators remove ID', about: 'Removes an operator; the token and its sessions end now.', takes: [1, 1] },
    input => ({ method: 'DELETE', path: pathOf('operators', input) }),
  ),
}
