// `turnpike config check`: validates the configuration and prints a summary.
import { environmentWith, loadConfig } from '../../config/config.ts'
import { formatPrice } from '../../domain/credits.ts'
import type { Command } from '../command.ts'
import { printFields, printJson, printTable } from '../output.ts'

export const commands: Readonly<Record<string, Command>> = {
  check: {
    usage: 'config check [FILE]',
    about: 'Checks environment variables and configuration file. On errors, prints file, line, column and key.',
    takes: [0, 1],
    async run(input) {
      const config = loadConfig(environmentWith(input.args[0]))
      const { providers, models } = config.catalog?.raw ?? config.detected
      const prices = models.map(({ id, prices, targets }) => ({
        id,
        prompt: formatPrice(prices.prompt),
        completion: formatPrice(prices.completion),
        tiers: (prices.tiers ?? []).map(tier => `${formatPrice(tier.prompt)} above ${tier.abovePromptTokens}`),
        targets: targets.map(target => `${target.provider}:${target.model}`),
      }))
      const summary = {
        file: config.configFile ?? null,
        listen: `${config.host}:${config.port}`,
        data_dir: config.dataDir,
        providers: providers.map(provider => provider.id),
        models: prices,
      }
      if (input.json) printJson({ ok: true, ...summary })
      else {
        const file = summary.file ?? 'none (uses the demo provider and providers with an API key in the environment)'
        printFields([
          ['file', file],
          ['listen', summary.listen],
          ['data directory', summary.data_dir],
          ['providers', [...(summary.file === null ? ['demo'] : []), ...summary.providers].join(', ') || 'none'],
        ])
        const rows = prices.map(({ id, prompt, completion, tiers, targets }) => [
          id,
          [prompt, ...tiers].join(', '),
          completion,
          targets.join(', '),
        ])
        if (rows.length > 0) printTable(['model', 'prompt', 'completion', 'targets'], rows)
      }
      return 0
    },
  },
}
