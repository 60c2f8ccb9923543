// `turnpike config check`: validates the configuration and prints a summary, or every mistake.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { BadConfig } from '../../config/bad-config.ts'
import { type Config, environmentWith, loadConfig } from '../../config/config.ts'
import { formatPrice } from '../../domain/credits.ts'
import { BadUsage, type Command, type Input } from '../command.ts'
import { printFields, printJson, printTable } from '../output.ts'
import { perMillion } from '../show.ts'

export const commands: Readonly<Record<string, Command>> = {
  check: {
    usage: 'config check [FILE]',
    about: 'Checks environment variables and configuration file. Prints file, line, column and key of every mistake.',
    examples: ['turnpike config check', 'turnpike config check ./turnpike.yaml --json'],
    takes: [0, 1],
    run: check,
  },
}

async function check(input: Input): Promise<number> {
  const [file] = input.args
  if (file !== undefined && !existsSync(file)) throw new BadUsage(`file not found: ${resolve(file)}`)
  try {
    show(loadConfig(environmentWith(file)), input)
    return 0
  } catch (error) {
    if (!(error instanceof BadConfig) || !input.json) throw error
    printJson({ ok: false, errors: error.problems })
    return 2
  }
}

function show(config: Config, input: Input): void {
  const { providers, models } = config.catalog?.raw ?? config.detected
  const summary = {
    file: config.configFile ?? null,
    listen: `${config.host}:${config.port}`,
    data_dir: config.dataDir,
    providers: providers.map(provider => provider.id),
    models: models.map(({ id, prices, targets }) => ({
      id,
      prompt: formatPrice(prices.prompt),
      completion: formatPrice(prices.completion),
      tiers: (prices.tiers ?? []).map(tier => `${formatPrice(tier.prompt)} above ${tier.abovePromptTokens}`),
      targets: targets.map(target => `${target.provider}:${target.model}`),
    })),
  }
  if (input.json) {
    printJson({ ok: true, ...summary })
    return
  }
  const file = summary.file ?? 'none (uses the demo provider and providers with an API key in the environment)'
  printFields([
    ['file', file],
    ['listen', summary.listen],
    ['data directory', summary.data_dir],
    ['providers', [...(summary.file === null ? ['demo'] : []), ...summary.providers].join(', ') || 'none'],
  ])
  const rows = summary.models.map(({ id, prompt, completion, tiers, targets }) => [
    id,
    perMillion(prompt),
    perMillion(completion),
    tiers.length === 0 ? null : `${tiers.length} price tiers`,
    targets.join(', '),
  ])
  if (rows.length > 0) printTable(['model', 'prompt/M', 'completion/M', 'tiers', 'targets'], rows)
}
