// `turnpike apply`: the running gateway reads its configuration file again; prints the changes.

import type { Command } from '../command.ts'
import { cell } from '../document.ts'
import { CLIENT_HELP, CLIENT_OPTIONS, type Json, openClient } from '../http-client.ts'
import { printJson, printTable } from '../output.ts'

export const commands: Readonly<Record<string, Command>> = {
  '': {
    usage: 'apply [--dry-run]',
    about: 'Puts the catalog of the configuration file in force, all of it or nothing, and prints what differs.',
    options: { 'dry-run': { about: 'only say what would change' }, ...CLIENT_OPTIONS },
    more: `The file is the one that the gateway was started with, on its machine. ${CLIENT_HELP}`,
    async run(input) {
      const answer = await (await openClient(input)).call('POST', '/catalog/apply', {
        dry_run: input.flag('dry-run'),
      })
      if (input.json) printJson(answer)
      else show(answer)
      return 0
    },
  },
}

function show({ changes, at_next_start: later, dry_run: isDry }: Json): void {
  const rows = (changes as readonly Json[]).map(({ change, what, id, fields, price }) => {
    const { before, after } = (price ?? {}) as Json
    return [change, what, id, fields, before, after].map(cell)
  })
  if (rows.length > 0) printTable(['change', 'what', 'id', 'fields', 'price before', 'price after'], rows)
  const done = isDry === true ? 'nothing was changed (dry run)' : rows.length === 0 ? 'nothing differs' : 'applied'
  process.stderr.write(`${done}\n`)
  if (Array.isArray(later) && later.length > 0) {
    process.stderr.write(`At the next start only: ${later.join(', ')}\n`)
  }
}
