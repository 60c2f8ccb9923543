// The sizing table: what a request rate needs in nodes, Postgres, Redis and disk, computed from measured costs. `npm run sizing
// -- --help` lists the options.
// Prints its results to stdout. A command of the repository, not a part of the server, which writes to its log alone.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { INPUTS, type Inputs } from './sizing-inputs.ts'
import { measurePostgres } from './sizing-measure.ts'
import { RATES, sizeFor, sizingTable, withTables } from './sizing-table.ts'

const DOCUMENT = join(import.meta.dirname, '../docs/scaling.md')
const HELP = `npm run sizing -- [options]

  --json           print machine-readable figures
  --write          write the tables to docs/scaling.md
  --measure        measure the costs of one chat on this machine and a private Postgres, and print them
  --requests N     number of chats to measure (20000)
  --node-us N      CPU of a node per JSON chat, in microseconds, instead of the measured one
  --postgres-us N  CPU of Postgres per chat, instead of the measured one
  --help`

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    measure: { type: 'boolean', default: false },
    requests: { type: 'string', default: '20000' },
    'node-us': { type: 'string' },
    'postgres-us': { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

if (values.help) console.log(HELP)
else if (values.measure) console.log(await measurePostgres(positive('requests', values.requests)))
else if (values.write) writeFileSync(DOCUMENT, withTables(readFileSync(DOCUMENT, 'utf8'), INPUTS))
else show(withOptions())

function withOptions(): Inputs {
  const { postgres } = INPUTS
  return {
    ...INPUTS,
    nodeCpuUs: positive('node-us', values['node-us'] ?? String(INPUTS.nodeCpuUs)),
    postgres: { ...postgres, cpuUs: positive('postgres-us', values['postgres-us'] ?? String(postgres.cpuUs)) },
  }
}

function show(inputs: Inputs): void {
  const sizes = RATES.map(rate => sizeFor(rate, inputs))
  console.log(values.json ? JSON.stringify(sizes, null, 2) : sizingTable(inputs))
}

function positive(name: string, text: string): number {
  const value = Number(text)
  if (!(value > 0)) throw new Error(`--${name} must be a number above 0`)
  return value
}
