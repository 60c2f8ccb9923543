// `turnpike serve`: reads the configuration and starts the gateway, or the primary of several workers.
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
      // Read before anything else is loaded: a mistake in it should be reported at once.
      const config = loadConfig()
      if (config.workers > 1 && cluster.isPrimary) {
        const { superviseWorkers } = await import('../../server/cluster/primary.ts')
        process.exit(await superviseWorkers(config))
      }
      const { serve } = await import('../../server/serve.ts')
      const code = await serve(config)
      // Exits explicitly instead of running out of work: while Node shuts down, one more SIGTERM would find no handler and become
      // the exit status.
      process.exit(code)
    },
  },
}
