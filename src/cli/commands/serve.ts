// `turnpike serve`: reads the configuration and hands over to the gateway, or to the parent of several.
import cluster from 'node:cluster'
import { loadConfig } from '../../config/config.ts'
import type { Command } from '../command.ts'

export const commands: Readonly<Record<string, Command>> = {
  '': {
    usage: 'serve',
    about: 'Starts the gateway. It drains and ends on SIGTERM; a second SIGTERM hurries.',
    more: 'All settings come from TURNPIKE_* variables and from turnpike.yaml; "turnpike config check" checks them.',
    withoutJson: true,
    async run() {
      // Read before anything else is loaded: a mistake in it should be said at once.
      const config = loadConfig()
      if (config.workers > 1 && cluster.isPrimary) {
        const { superviseWorkers } = await import('../../server/cluster/primary.ts')
        process.exit(await superviseWorkers(config))
      }
      const { serve } = await import('../../server/serve.ts')
      const code = await serve(config)
      // At once, and not by running out of work: while Node takes itself apart, one more SIGTERM would find no handler
      // and become the way it ended.
      process.exit(code)
    },
  },
}
