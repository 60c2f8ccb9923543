// `turnpike credits add`: adds credits to an account, idempotently.
import { randomUUID } from 'node:crypto'
import { formatCredits, isBeyondCredits, NANO_MAX, parseCredits } from '../../domain/credits.ts'
import { BadUsage, type Command, Failed } from '../command.ts'
import { CLIENT_HELP, CLIENT_OPTIONS, openClient } from '../http-client.ts'
import { type Cell, printFields, printJson } from '../output.ts'

export const commands: Readonly<Record<string, Command>> = {
  add: {
    usage: 'credits add ACCOUNT AMOUNT [options]',
    about: 'Adds credits to an account. A negative amount (after --) deducts credits, never below zero.',
    options: {
      note: { value: 'TEXT', about: 'note for the ledger entry' },
      'idempotency-key': {
        value: 'KEY',
        about: 'repeated calls with the same key are applied once (default: random)',
      },
      ...CLIENT_OPTIONS,
    },
    more: CLIENT_HELP,
    takes: [2, 2],
    async run(input) {
      const [account = '', amount = ''] = input.args
      if (isBeyondCredits(amount)) throw new BadUsage(`AMOUNT must be at most ${formatCredits(NANO_MAX)}`)
      if (parseCredits(amount) === undefined)
        throw new BadUsage('AMOUNT must be a decimal number such as 10 or 0.25, with at most 9 decimals')
      const once = input.text('idempotency-key') ?? randomUUID()
      const note = input.text('note')
      const client = await openClient(input)
      const path = `/accounts/${encodeURIComponent(account)}/credits`
      const entry = await client
        .call('POST', path, { amount, ...(note === undefined ? {} : { note }) }, { 'idempotency-key': once })
        .catch((error: Error) => {
          if (!(error instanceof Failed && error.unsure)) throw error
          // Repeating the call with the same key is safe.
          throw new Failed(`${error.message}\nto retry safely, add: --idempotency-key ${once}`)
        })

      if (input.json) printJson(entry)
      else printFields(Object.entries(entry).filter(([name]) => name !== 'object') as [string, Cell][])
      return 0
    },
  },
}
