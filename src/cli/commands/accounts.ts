// `turnpike accounts …`: accounts, their balances, budgets and ledgers.
import { randomUUID } from 'node:crypto'
import { parseCredits } from '../../domain/credits.ts'
import { callCommand, clientCommand, listCommand, pathOf } from '../call-command.ts'
import { BadUsage, type Command, Failed, type Input, type Option } from '../command.ts'
import { BUDGET_OPTION, ifMatch, readBudgets, showOne, something, VERSION_OPTION } from '../document.ts'
import { type Client, type Json, openClient } from '../http-client.ts'
import { printJson } from '../output.ts'

const SETTINGS: Readonly<Record<string, Option>> = {
  ...BUDGET_OPTION,
  'low-balance': { value: 'CREDITS', about: 'raise an event when less is available, or "none"' },
}

export const commands: Readonly<Record<string, Command>> = {
  list: listCommand(
    { usage: 'accounts list [options]', about: 'Lists accounts with their balances, newest first.' },
    {
      path: () => '/accounts',
      columns: ['id', 'name', 'state', 'balance', 'created_at'],
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
  create: clientCommand(
    {
      usage: 'accounts create NAME [options]',
      about: 'Creates an account, and with --credits and --key also its first credits and its first key.',
      options: {
        credits: { value: 'CREDITS', about: 'credits to add' },
        key: { value: 'NAME', about: 'create a key of this name; its secret is shown only once' },
        ...SETTINGS,
      },
      takes: [1, 1],
    },
    create,
  ),
  update: callCommand(
    {
      usage: 'accounts update ID [options]',
      about: 'Changes the given fields only. Takes effect with the next request.',
      options: {
        name: { value: 'NAME', about: 'new name' },
        status: { value: 'STATUS', about: 'active or suspended' },
        ...SETTINGS,
        ...VERSION_OPTION,
      },
      takes: [1, 1],
    },
    input => ({
      method: 'PATCH',
      path: pathOf('accounts', input),
      body: something({ name: input.text('name'), status: input.text('status'), ...settings(input) }),
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

function settings(input: Input): Json {
  const low = input.text('low-balance')
  return { budgets: readBudgets(input), low_balance: low === 'none' ? null : low }
}

// Up to three calls. What fails after the first says which account exists, and how to go on.
async function create(input: Input): Promise<number> {
  const [credits, key] = [input.text('credits'), input.text('key')]
  if (credits !== undefined && (parseCredits(credits) ?? 0n) <= 0n)
    throw new BadUsage('--credits must be a positive decimal number such as 10 or 0.25')
  const client = await openClient(input)
  const account = await client.call('POST', '/accounts', { name: input.args[0] ?? '', ...settings(input) })
  const id = String(account.id)
  const entry = credits === undefined ? undefined : await addCredits(client, id, credits)
  const made = key === undefined ? undefined : await createKey(client, id, key)
  const shown = entry === undefined ? account : await client.call('GET', `/accounts/${id}`)
  if (input.json) {
    printJson({ ...shown, ...(entry && { credits: entry }), ...(made && { key: made }) })
    return 0
  }
  return showOne(made === undefined ? shown : { ...shown, key_id: made.id, secret: made.secret }, input)
}

function addCredits(client: Client, id: string, amount: string): Promise<Json> {
  const once = randomUUID()
  const next = `turnpike credits add ${id} ${amount} --idempotency-key ${once}`
  return client
    .call('POST', `/accounts/${id}/credits`, { amount }, { 'idempotency-key': once })
    .catch(unfinished(id, 'has no credits yet', next))
}

function createKey(client: Client, id: string, name: string): Promise<Json> {
  return client
    .call('POST', '/keys', { name, account_id: id })
    .catch(unfinished(id, 'has no key yet', `turnpike keys create ${name} --account ${id}`))
}

function unfinished(id: string, what: string, next: string) {
  return (error: Error): never => {
    throw new Failed(`${error.message}\nthe account ${id} was created and ${what}; go on with: ${next}`)
  }
}
