// `turnpike operators …`: operators and their tokens. A token is printed only when it is created.
import { callCommand, listCommand, pathOf } from '../call-command.ts'
import { BadUsage, type Command, type Option } from '../command.ts'
import { something } from '../document.ts'

const ROLE: Option = { value: 'ROLE', about: 'admin (full access) or viewer (read-only)', values: ['admin', 'viewer'] }
const OPERATOR = { takes: [1, 1], names: 'operator' } as const

export const commands: Readonly<Record<string, Command>> = {
  list: listCommand(
    {
      usage: 'operators list [options]',
      about: 'Lists operators. op_root is the operator of TURNPIKE_ADMIN_TOKEN.',
      examples: ['turnpike operators list'],
    },
    {
      path: () => '/operators',
      columns: ['id', 'name', 'role', 'created_at', 'last_used_at'],
      first: ['id', 'name', 'role', 'last_used_at', 'created_at'],
    },
  ),
  create: callCommand(
    {
      usage: 'operators create NAME --role ROLE',
      about: 'Adds an operator and prints the token, which is shown only once.',
      examples: ['turnpike operators create dana --role viewer'],
      options: { role: ROLE },
      takes: [1, 1],
    },
    input => {
      const role = input.text('role')
      if (role === undefined) throw new BadUsage('--role admin or --role viewer is required')
      return { method: 'POST', path: '/operators', body: { name: input.args[0], role } }
    },
  ),
  update: callCommand(
    {
      usage: 'operators update OPERATOR [options]',
      about: 'Renames an operator or changes the role. Takes effect with the next request.',
      examples: ['turnpike operators update dana --role admin'],
      options: { name: { value: 'NAME', about: 'new name' }, role: ROLE },
      ...OPERATOR,
    },
    input => ({
      method: 'PATCH',
      path: pathOf('operators', input),
      body: something({ name: input.text('name'), role: input.text('role') }),
    }),
  ),
  rotate: callCommand(
    {
      usage: 'operators rotate OPERATOR [options]',
      about: 'Creates a new token and prints it once. The old token and its sessions stop working immediately.',
      examples: ['turnpike operators rotate dana'],
      confirms: 'End the token and the sessions of the operator',
      ...OPERATOR,
    },
    input => ({ method: 'POST', path: pathOf('operators', input, '/rotate'), body: {} }),
  ),
  remove: callCommand(
    {
      usage: 'operators remove OPERATOR [options]',
      about: 'Removes an operator. The token and its sessions stop working immediately.',
      examples: ['turnpike operators remove dana'],
      confirms: 'Remove the operator',
      ...OPERATOR,
    },
    input => ({ method: 'DELETE', path: pathOf('operators', input) }),
  ),
}
