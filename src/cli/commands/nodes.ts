// `turnpike nodes`: the nodes that share the database.
import { clientCommand } from '../call-command.ts'
import type { Command } from '../command.ts'
import type { Json } from '../http-client.ts'
import { printJson } from '../output.ts'
import { showRows } from '../show.ts'

export const commands: Readonly<Record<string, Command>> = {
  '': clientCommand(
    {
      usage: 'nodes [options]',
      about: 'Lists the nodes that share the database: name, version and state (alive or silent).',
      examples: ['turnpike nodes'],
      hasRows: true,
    },
    async (input, client) => {
      const { data } = await client.call('GET', '/nodes')
      const columns = ['id', 'name', 'version', 'state', 'started_at', 'renewed_at', 'requests_in_flight', 'self']
      const first = ['name', 'state', 'version', 'requests_in_flight', 'started_at', 'self', 'id', 'renewed_at']
      if (input.json) printJson(data)
      else showRows(data as readonly Json[], { columns, first }, input)
      return 0
    },
  ),
}
