// `turnpike usage show`: what one request did and what it cost, by the id that its answer carried.
import { CLIENT_HELP, CLIENT_OPTIONS, openClient } from './client.ts'
import type { Command } from './command.ts'
import { type Cell, printFields, printJson } from './table.ts'

export const commands: Readonly<Record<string, Command>> = {
  show: {
    usage: 'usage show REQUEST_ID',
    about: 'Shows the usage record of one request (the X-Request-Id of its answer).',
    options: CLIENT_OPTIONS,
    more: CLIENT_HELP,
    takes: [1, 1],
    async run(input) {
      const row = await (await openClient(input)).call('GET', `/usage/${encodeURIComponent(input.args[0] ?? '')}`)
      if (input.json) printJson(row)
      else
        printFields(
          Object.entries(row)
            .filter(([name]) => name !== 'object')
            .map(([name, value]) => [name, flat(value)]),
        )
      return 0
    },
  },
}

function flat(value: unknown): Cell {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as Cell)
}
