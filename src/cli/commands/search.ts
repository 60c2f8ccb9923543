// `turnpike search`: finds accounts, keys, models and requests.
import { clientCommand } from '../call-command.ts'
import type { Command } from '../command.ts'
import type { Json } from '../http-client.ts'
import { printJson } from '../output.ts'
import { showRows } from '../show.ts'

export const commands: Readonly<Record<string, Command>> = {
  '': clientCommand(
    {
      usage: 'search TEXT [options]',
      about:
        'Finds accounts, keys, models and requests by part of a name, an e-mail, an ID or the last four of a secret.',
      examples: ['turnpike search globex', 'turnpike search Ab3d'],
      takes: [1, 1],
      hasRows: true,
    },
    async (input, client) => {
      const { data } = await client.call('GET', `/search?${new URLSearchParams({ q: input.args[0] ?? '' })}`)
      const columns = ['type', 'id', 'name', 'detail']
      if (input.json) printJson(data)
      else showRows(data as readonly Json[], { columns, first: columns }, input)
      return 0
    },
  ),
}
