// `turnpike serve`: loads the configuration and starts the gateway, or the primary process of several workers.
import cluster from 'node:cluster'
import { loadConfig } from '../../config/config.ts'
import type { Command } from '../command.ts'

export const commands: Readonly<Record<string, Command>> = {
  '': {
    usage: 'serve',
    about: 'Starts the gateway. SIGTERM drains it and exits; send SIGTERM again to stop immediately.',
    examples: ['turnpike serve', 'TURNPIKE_PORT=9000 turnpike serve'],
    more: 'Configure with TURNPIKE_* variables and turnpike.yaml; check with "turnpike config check".',
    withoutJson: true,
    async run() {
      // Loaded before any other module, so that configuration errors are reported immediately.
      const config = loadConfig()
      if (config.workers > 1 && cluster.isPrimary) {
        const { superviseWorkers } = await import('../../server/cluster/primary.ts')
        process.exit(await superviseWorkers(config))
      }
      const { serve } = await import('../../server/serve.ts')
      const code = await serve(config)
      // Exits explicitly: during Node's own shutdown, one more SIGTERM would find no handler and change the exit code.
      process.exit(code)
    },
  },
}
