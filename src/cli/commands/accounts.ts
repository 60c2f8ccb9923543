// `turnpike accounts …`: accounts, their balances, budgets and ledgers.
import { randomUUID } from 'node:crypto'
import { parseCredits } from '../../domain/credits.ts'
import { shellQuote } from '../../lib/shell-quote.ts'
import { checkPortalLimits, PORTAL_LIMIT_OPTIONS, portalLimits } from '../accounts/portal-limits.ts'
import { callCommand, clientCommand, listCommand, pathOf, sortFilters } from '../call-command.ts'
import { BadUsage, type Command, Failed, type Input, type Option } from '../command.ts'
import { BUDGET_OPTION, ifMatch, readBudgets, something, VERSION_OPTION } from '../document.ts'
import type { Client, Json } from '../http-client.ts'
import { printJson } from '../output.ts'
import { showOne } from '../show.ts'

const SETTINGS: Readonly<Record<string, Option>> = {
  ...BUDGET_OPTION,
  'low-balance': { value: 'CREDITS', about: 'raise an event when less is available, or "none"' },
  email: { value: 'ADDRESS', about: 'contact e-mail address, or "none"' },
  'external-id': { value: 'ID', about: 'ID of the account in your own system, or "none"' },
}

const ACCOUNT = { takes: [1, 1], names: 'account' } as const
const STATUS: Option = { value: 'STATUS', about: 'active or suspended', values: ['active', 'suspended'] }

const KINDS = ['topup', 'adjustment', 'charge', 'correction'] as const

export const commands: Readonly<Record<string, Command>> = {
  list: listCommand(
    {
      usage: 'accounts list [options]',
      about: 'Lists accounts with their available credits, newest first.',
      examples: [
        'turnpike accounts list --search acme',
        'turnpike accounts list --sort available --order asc',
        'turnpike accounts list -o csv > accounts.csv',
      ],
    },
    {
      path: () => '/accounts',
      columns: ['id', 'name', 'state', 'available', 'spent_this_month', 'created_at'],
      extra: ['status', 'held', 'owed', 'spent', 'low_balance', 'contact_email', 'external_id', 'version'],
      first: ['id', 'name', 'available', 'spent_this_month', 'state', 'created_at'],
      derive: ({ balance }) => balance as Json,
      filters: {
        status: STATUS,
        search: { value: 'TEXT', about: 'part of the name, ID, e-mail or external ID', query: 'q' },
        'external-id': { value: 'ID', about: 'exactly this external ID', query: 'external_id' },
        ...sortFilters(['name', 'available', 'spent']),
      },
    },
  ),
  show: callCommand(
    {
      usage: 'accounts show ACCOUNT',
      about: 'Shows one account, by its ID or name.',
      examples: ['turnpike accounts show acme'],
      ...ACCOUNT,
    },
    input => ({ method: 'GET', path: pathOf('accounts', input) }),
  ),
  create: clientCommand(
    {
      usage: 'accounts create NAME [options]',
      about: 'Creates an account, and with --credits and --key also its first credits and its first key.',
      examples: ['turnpike accounts create acme --credits 100 --key production'],
      options: {
        credits: { value: 'CREDITS', about: 'credits to add' },
        key: { value: 'NAME', about: 'create a key of this name; its secret is shown only once' },
        ...SETTINGS,
      },
      takes: [1, 1],
      check: checkCreate,
    },
    create,
  ),
  update: callCommand(
    {
      usage: 'accounts update ACCOUNT [options]',
      about: 'Changes the given fields only. Takes effect with the next request.',
      examples: [
        'turnpike accounts update acme --budget month=500',
        'turnpike accounts update acme --status suspended',
      ],
      options: { name: { value: 'NAME', about: 'new name' }, status: STATUS, ...SETTINGS, ...VERSION_OPTION },
      ...ACCOUNT,
    },
    input => ({
      method: 'PATCH',
      path: pathOf('accounts', input),
      body: something({ name: input.text('name'), status: input.text('status'), ...settings(input) }),
      headers: ifMatch(input),
    }),
  ),
  'portal-limits': clientCommand(
    {
      usage: 'accounts portal-limits ACCOUNT [options]',
      about:
        'Shows the limits of keys that the customer creates in the portal, or changes the given ones. Existing keys are not changed.',
      examples: [
        'turnpike accounts portal-limits acme',
        'turnpike accounts portal-limits acme --max-keys 5 --rpm 60 --model "gpt-4o*"',
      ],
      options: PORTAL_LIMIT_OPTIONS,
      ...ACCOUNT,
      check: checkPortalLimits,
    },
    portalLimits,
  ),
  ledger: listCommand(
    {
      usage: 'accounts ledger ACCOUNT [options]',
      about: 'Lists the ledger of an account: top-ups, adjustments, charges by day and corrections, newest first.',
      examples: ['turnpike accounts ledger acme --limit 20', 'turnpike accounts ledger acme --kind topup'],
      ...ACCOUNT,
    },
    {
      path: input => pathOf('accounts', input, '/ledger'),
      columns: ['id', 'kind', 'amount', 'balance', 'requests', 'request_id', 'note', 'created_at'],
      extra: ['account_id', 'from', 'to', 'errors'],
      first: ['created_at', 'kind', 'amount', 'balance', 'id', 'requests', 'note', 'request_id'],
      filters: {
        kind: { value: 'KIND', about: KINDS.join(', '), values: KINDS },
        from: { value: 'TIME', about: 'created at or after this time, ISO 8601' },
        to: { value: 'TIME', about: 'created before this time, ISO 8601' },
      },
    },
  ),
}

function settings(input: Input): Json {
  const orNull = (name: string) => (input.text(name) === 'none' ? null : input.text(name))
  return {
    budgets: readBudgets(input),
    low_balance: orNull('low-balance'),
    contact_email: orNull('email'),
    external_id: orNull('external-id'),
  }
}

function checkCreate(input: Input): void {
  const credits = input.text('credits')
  if (credits !== undefined && (parseCredits(credits) ?? 0n) <= 0n)
    throw new BadUsage('--credits must be a positive decimal number such as 10 or 0.25')
  settings(input)
}

// Up to three calls. What fails after the first says which account exists, and how to go on.
async function create(input: Input, client: Client): Promise<number> {
  const [credits, key] = [input.text('credits'), input.text('key')]
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
  const next = `turnpike keys create ${shellQuote(name)} --account ${id}`
  return client.call('POST', '/keys', { name, account_id: id }).catch((error: Error) => {
    if (!(error instanceof Failed && error.unsure)) return unfinished(id, 'has no key yet', next)(error)
    const advice = `the account ${id} was created, and perhaps a key whose secret is lost: if "turnpike keys list --account ${id}" shows one, revoke it`
    throw new Failed(`${error.message}\n${advice}; then go on with: ${next}`, true)
  })
}

// Safe to be sent again: nothing was done, or the idempotency key finds what was done.
function unfinished(id: string, what: string, next: string) {
  return (error: Error): never => {
    throw new Failed(`${error.message}\nthe account ${id} was created and ${what}; go on with: ${next}`)
  }
}
