// `npm run chaos`: runs the multi-node figures at any size, with a seed that reproduces the random choices.
import { parseArgs } from 'node:util'
import { hasPostgres } from '../support/postgres.ts'
import { hasRedis } from '../support/redis.ts'
import { chance } from '../support/simulated-targets.ts'
import type { Figure } from './figures/figure.ts'
import { FIGURES } from './figures/figures.ts'

const HELP = `npm run chaos -- [FIGURE…] [--size N] [--seed N]

Runs the named figures, or all of them, on private servers (or on DATABASE_URL and REDIS_URL, if set):
${FIGURES.map(({ name, about, unit, small }) => `  ${name.padEnd(4)} ${about} (${small} ${unit})`).join('\n')}

  --size N   number of units, instead of the number in brackets
  --seed N   random seed (default 1). The timing of concurrent processes is not reproduced exactly.
`

process.exitCode = await main()
process.exit()

async function main(): Promise<number> {
  const asked = ask()
  if (typeof asked === 'string') {
    process.stderr.write(`${asked}\n\n${HELP}`)
    return 2
  }
  if (asked.help) {
    process.stdout.write(HELP)
    return 0
  }
  if (!hasPostgres() || !hasRedis()) return 2
  let failed = 0
  for (const figure of asked.figures) if (!(await reached(figure, asked))) failed += 1
  return failed === 0 ? 0 : 1
}

type Asked = {
  readonly help: boolean
  readonly figures: readonly Figure[]
  readonly size?: number
  readonly seed: number
}

function ask(): Asked | string {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { size: { type: 'string' }, seed: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
    })
    const names = positionals.map(name => name.toUpperCase())
    const unknown = names.find(name => !FIGURES.some(figure => figure.name === name))
    if (unknown !== undefined) return `there is no figure ${unknown}`
    const figures = FIGURES.filter(({ name }) => names.length === 0 || names.includes(name))
    const size = values.size === undefined ? {} : { size: count('--size', values.size) }
    return { help: values.help ?? false, figures, ...size, seed: count('--seed', values.seed ?? '1') }
  } catch (error) {
    return (error as Error).message
  }
}

function count(name: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`${name} must be a whole number from 1, not ${text}`)
  return Number(text)
}

async function reached(figure: Figure, { size = figure.small, seed }: Asked): Promise<boolean> {
  const started = performance.now()
  const took = () => `${((performance.now() - started) / 1000).toFixed(0)} s`
  const say = (done: number) => {
    if (process.stderr.isTTY) process.stderr.write(`\r${figure.name}  ${done} of ${size} ${figure.unit}, ${took()} `)
  }
  try {
    const result = await figure.run({ size, random: chance(seed), say })
    process.stdout.write(
      `\r${figure.name}  ok: ${size} ${figure.unit}, seed ${seed}, ${took()}  ${JSON.stringify(result)}\n`,
    )
    return true
  } catch (error) {
    process.stdout.write(`\r${figure.name}  NOT REACHED: seed ${seed}, ${took()}\n${(error as Error).stack}\n`)
    return false
  }
}
