// `turnpike accounts …`: accounts, their balances and ledgers.
import { callCommand, listCommand, pathOf } from '../call-command.ts'
import type { Command } from '../command.ts'
import { ifMatch, something, VERSION_OPTION } from '../document.ts'

export const commands: Readonly<Record<string, Command>> = {
  list: listCommand(
    { usage: 'accounts list [options]', about: 'Lists accounts with their balances, newest first.' },
    {
      path: () => '/accounts',
      columns: ['id', 'name', 'status', 'balance', 'created_at'],
      filters: {
        status: { value: 'STATUS', about: 'active or suspended' },
        search: { value: 'TEXT', about: 'part of the name or ID', query: 'q' },
      },
    },
  ),
  show: callCommand({ usage: 'accounts show ID', about: 'Shows one account.', takes: [1, 1] }, input => ({
    method: 'GET',
    path: pathOf('accounts', input),
  })),
  create: callCommand(
    {
      usage: 'accounts create NAME',
      about: 'Creates an account. Add credits with "turnpike credits add".',
      takes: [1, 1],
    },
    input => ({ method: 'POST', path: '/accounts', body: { name: input.args[0] } }),
  ),
  update: callCommand(
    {
      usage: 'accounts update ID [options]',
      about: 'Renames, suspends or reactivates an account. Takes effect with the next request.',
      options: {
        name: { value: 'NAME', about: 'new name' },
        status: { value: 'STATUS', about: 'active or suspended' },
        ...VERSION_OPTION,
      },
      takes: [1, 1],
    },
    input => ({
      method: 'PATCH',
      path: pathOf('accounts', input),
      body: something({ name: input.text('name'), status: input.text('status') }),
      headers: ifMatch(input),
    }),
  ),
  ledger: listCommand(
    {
      usage: 'accounts ledger ID [options]',
      about: 'Lists the ledger of an account: top-ups, adjustments, charges by day and corrections, newest first.',
      takes: [1, 1],
    },
    {
      path: input => pathOf('accounts', input, '/ledger'),
      columns: ['id', 'kind', 'amount', 'requests', 'request_id', 'note', 'created_at'],
    },
  ),
}
