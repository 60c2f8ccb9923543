// `turnpike nodes`: the nodes that share the database.

import type { Command } from '../command.ts'
import { CLIENT_HELP, CLIENT_OPTIONS, openClient } from '../http-client.ts'
import { type Cell, printJson, printTable } from '../output.ts'

const COLUMNS = ['id', 'name', 'version', 'state', 'started_at', 'renewed_at', 'requests_in_flight', 'self'] as const

export const commands: Readonly<Record<string, Command>> = {
  '': {
    usage: 'nodes',
    about: 'Lists the nodes that share the database: name, version and state (alive or silent).',
    options: CLIENT_OPTIONS,
    more: CLIENT_HELP,
    async run(input) {
      const { data } = await (await openClient(input)).call('GET', '/nodes')
      const nodes = data as readonly Readonly<Record<string, Cell>>[]
      if (input.json) printJson(nodes)
      else
        printTable(
          COLUMNS,
          nodes.map(node => COLUMNS.map(column => node[column])),
        )
      return 0
    },
  },
}
