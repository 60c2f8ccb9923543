// The documentation of providers matches the data: every preset and every kind, to the last field.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { PRESET_NAMES, PRESETS, type Preset, SDK_PRESETS } from '../../src/domain/presets.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/providers.md'), 'utf8')

test('the table of presets equals the one in the code', () => {
  const rows = PRESET_NAMES.map(name => presetRow(name, PRESETS[name]))

  const head = /^\| preset \|.*\n\|[-|]+\|\n((?:\|.*\n)+)/m.exec(page)
  assert.deepEqual(head?.[1]?.trimEnd().split('\n'), rows)
})

test('every kind is listed with its package and its settings', () => {
  for (const [kind, preset] of Object.entries(SDK_PRESETS)) {
    const row = page.split('\n').find(line => line.startsWith(`| \`${kind}\` | \`${preset.package}\` |`))
    assert.ok(row, kind)
    for (const name of preset.settings) assert.ok(row.includes(`\`${name}\``), `${kind}: ${name}`)
  }
})

function presetRow(name: string, preset: Preset): string {
  const variable = preset.apiKeyVariable === null ? '' : ` \`${preset.apiKeyVariable}\``
  const key = preset.needsKey ? `needs${variable}` : 'none'
  const left = [...preset.quirks.leavesOut, ...(preset.quirks.streamOptions ? [] : ['stream_options'])]
  const cells = [
    `\`${name}\``,
    preset.baseUrl ?? 'your own',
    key,
    left.map(field => `\`${field}\``).join(', '),
    preset.passthrough.map(field => `\`${field}\``).join(', '),
    preset.limitations.join('; '),
  ]
  return `| ${cells.join(' | ')} |`
}
