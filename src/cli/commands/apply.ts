// `turnpike apply`: makes the running gateway apply its configuration file, and prints the changes.
import { clientCommand } from '../call-command.ts'
import type { Command } from '../command.ts'
import type { Json } from '../http-client.ts'
import { clean, printJson, printTable } from '../output.ts'
import { cell, priceText } from '../show.ts'

export const commands: Readonly<Record<string, Command>> = {
  '': clientCommand(
    {
      usage: 'apply [--dry-run]',
      about: 'Applies the providers and models of the configuration file in one transaction and prints the changes.',
      examples: ['turnpike apply --dry-run', 'turnpike apply'],
      options: { 'dry-run': { about: 'print the changes without applying them' } },
      more: 'The gateway reads the file that it was started with, on its own machine.',
    },
    async (input, client) => {
      const answer = await client.call('POST', '/catalog/apply', { dry_run: input.flag('dry-run') })
      if (input.json) printJson(answer)
      else show(answer)
      return 0
    },
  ),
}

function show({ changes, at_next_start: later, dry_run: isDry }: Json): void {
  const rows = (changes as readonly Json[]).map(({ change, what, id, fields, price }) => {
    const { before, after } = (price ?? {}) as Json
    return [change, what, id, fields, priceText(before), priceText(after)].map(cell)
  })
  if (rows.length > 0) printTable(['change', 'what', 'id', 'fields', 'price before', 'price after'], rows)
  const done = isDry === true ? 'dry run: nothing was changed' : rows.length === 0 ? 'no changes' : 'applied'
  process.stderr.write(`${done}\n`)
  if (Array.isArray(later) && later.length > 0) {
    process.stderr.write(`Requires a restart: ${later.map(clean).join(', ')}\n`)
  }
}
