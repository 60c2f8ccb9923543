// `turnpike credits add`: adds credits to an account, idempotently.
import { randomUUID } from 'node:crypto'
import { formatCredits, isBeyondCredits, NANO_MAX, parseCredits } from '../../domain/credits.ts'
import { clientCommand } from '../call-command.ts'
import { BadUsage, type Command, Failed, type Input } from '../command.ts'
import type { Client } from '../http-client.ts'
import { showOne } from '../show.ts'

export const commands: Readonly<Record<string, Command>> = {
  add: clientCommand(
    {
      usage: 'credits add ACCOUNT AMOUNT [options]',
      about: 'Adds credits to an account. A negative amount deducts credits, never below zero.',
      examples: ['turnpike credits add acme 100 --note "invoice 1017"', 'turnpike credits add acme -5'],
      options: {
        note: { value: 'TEXT', about: 'note for the ledger entry' },
        'idempotency-key': {
          value: 'KEY',
          about: 'repeated calls with the same key are applied once (default: random)',
        },
      },
      takes: [2, 2],
      names: 'account',
      check,
    },
    add,
  ),
}

function check({ args: [, amount = ''] }: Input): void {
  if (isBeyondCredits(amount)) throw new BadUsage(`AMOUNT must be at most ${formatCredits(NANO_MAX)}`)
  if (parseCredits(amount) === undefined)
    throw new BadUsage('AMOUNT must be a decimal number such as 10 or 0.25, with at most 9 decimals')
}

async function add(input: Input, client: Client): Promise<number> {
  const [account = '', amount = ''] = input.args
  const once = input.text('idempotency-key') ?? randomUUID()
  const note = input.text('note')
  const path = `/accounts/${encodeURIComponent(account)}/credits`
  const entry = await client
    .call('POST', path, { amount, ...(note === undefined ? {} : { note }) }, { 'idempotency-key': once })
    .catch((error: Error) => {
      if (!(error instanceof Failed && error.unsure)) throw error
      // Repeating the call with the same key is safe.
      throw new Failed(`${error.message}\nto retry safely, add: --idempotency-key ${once}`)
    })
  return showOne(entry, input)
}
