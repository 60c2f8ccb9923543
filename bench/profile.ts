// Prints where the time went in the CPU profiles of a folder or file: the functions by self time.
// Prints its results to stdout. A command of the repository, not a part of the server, which writes to its log alone.

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'

type Profile = {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

const { values, positionals } = parseArgs({
  options: { top: { type: 'string', default: '30' } },
  allowPositionals: true,
})
if (positionals.length === 0) throw new Error('usage: node bench/profile.ts FILE|FOLDER… [--top N]')
for (const file of positionals.flatMap(profilesIn)) printTop(file, Number(values.top))

function profilesIn(place: string): readonly string[] {
  if (!statSync(place).isDirectory()) return [place]
  const names = readdirSync(place).filter(name => name.endsWith('.cpuprofile'))
  return names.sort().map(name => join(place, name))
}

function printTop(file: string, top: number): void {
  const profile = JSON.parse(readFileSync(file, 'utf8')) as Profile
  const selfUs = selfTimes(profile)
  const total = [...selfUs.values()].reduce((sum, us) => sum + us, 0)
  // Shares of the busy time: an idle thread would hide everything else.
  const busy = total - (selfUs.get('(idle)') ?? 0)
  console.log(`${basename(file)}: ${(busy / 1000).toFixed(0)} ms busy of ${(total / 1000).toFixed(0)} ms`)
  const ranked = [...selfUs].filter(([name]) => name !== '(idle)').sort((a, b) => b[1] - a[1])
  for (const [name, us] of ranked.slice(0, top)) {
    console.log(`${((us / busy) * 100).toFixed(1).padStart(6)} % ${(us / 1000).toFixed(1).padStart(9)} ms  ${name}`)
  }
  console.log()
}

function selfTimes(profile: Profile): ReadonlyMap<string, number> {
  const names = new Map(profile.nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]))
  const selfUs = new Map<string, number>()
  profile.samples.forEach((id, i) => {
    const name = names.get(id) ?? '(unknown)'
    selfUs.set(name, (selfUs.get(name) ?? 0) + (profile.timeDeltas[i] ?? 0))
  })
  return selfUs
}

function nameOf({ functionName, url, lineNumber }: Profile['nodes'][number]['callFrame']): string {
  const name = functionName === '' ? '(anonymous)' : functionName
  const place = url.replace(/^file:\/\//, '').replace(`${process.cwd()}/`, '')
  return place === '' ? name : `${name}  ${place}:${lineNumber + 1}`
}
