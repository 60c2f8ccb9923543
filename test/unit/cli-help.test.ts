// Every command of the table explains itself: examples that its own parser accepts, and a help of at most 80 columns.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readInput } from '../../src/cli/arguments.ts'
import { allCommands } from '../../src/cli/command.ts'
import { GROUPS } from '../../src/cli/command-table.ts'
import { groupHelp, helpFor } from '../../src/cli/help.ts'
import { FAILURES } from '../../src/cli/usage/filters.ts'
import { MODEL_TYPES, PROVIDER_KINDS } from '../../src/domain/catalog.ts'
import { ERROR_OUTCOMES, FAILED } from '../../src/domain/error-cause.ts'
import { ACCOUNT_STATUSES, KEY_STATUS_FILTERS, SCOPES } from '../../src/domain/key.ts'
import { IMPORT_COSTS } from '../../src/domain/list-model.ts'
import { ROLES } from '../../src/domain/operator.ts'
import { ENDPOINTS, OUTCOMES } from '../../src/domain/usage.ts'
import { DELIVERY_STATUSES, WEBHOOK_FORMATS } from '../../src/domain/webhook.ts'
import { SUMMARY_GROUPS } from '../../src/store/contract/operator.ts'

const COLUMNS = 80
const entries = await allCommands(GROUPS)

for (const { words, command } of entries) {
  test(`turnpike ${words.join(' ')} has examples that work, and a help that fits`, () => {
    assert.ok(command.usage.startsWith(words.join(' ')))
    assert.ok(command.examples.length > 0, 'no example')
    for (const example of command.examples) {
      const argv = wordsOf(example)
      const at = argv.indexOf('turnpike')

      assert.deepEqual(argv.slice(at + 1, at + 1 + words.length), words, example)
      readInput(command, argv.slice(at + 1 + words.length))
    }
    for (const line of helpFor(command).split('\n')) assert.ok(line.length <= COLUMNS, `${line.length}: ${line}`)
  })
}

test('the help of a group has its commands and an example of each, and fits', async () => {
  for (const [name, { about, load }] of Object.entries(GROUPS)) {
    const { commands } = await load()
    if ('' in commands) continue
    const text = groupHelp(name, about, commands)

    for (const line of text.split('\n')) assert.ok(line.length <= COLUMNS, `${line.length}: ${line}`)
    for (const [verb, { examples }] of Object.entries(commands)) {
      assert.ok(text.includes(`turnpike ${name} ${verb}`), verb)
      assert.ok(text.includes(examples[0] ?? 'missing'), verb)
    }
  }
})

test('an option of the same name has the same letter and the same kind everywhere', () => {
  const seen = new Map<string, string>()
  for (const { command } of entries) {
    for (const [name, { short, value }] of Object.entries({ ...command.commonOptions, ...command.options })) {
      const kind = `${short ?? '-'} ${value === undefined ? 'flag' : 'value'}`
      assert.equal(seen.get(name) ?? kind, kind, `--${name} of ${command.usage}`)
      seen.set(name, kind)
    }
  }
})

test('the values that completion offers are those of the gateway', () => {
  const valuesOf = (usage: string, option: string) =>
    entries.find(({ words }) => words.join(' ') === usage)?.command.options?.[option]?.values
  const expected: readonly (readonly [string, string, readonly string[]])[] = [
    ['keys list', 'status', KEY_STATUS_FILTERS],
    ['keys create', 'scope', SCOPES],
    ['accounts list', 'status', ACCOUNT_STATUSES],
    ['operators create', 'role', ROLES],
    ['providers create', 'kind', PROVIDER_KINDS],
    ['models create', 'type', MODEL_TYPES],
    ['models import', 'costs', IMPORT_COSTS],
    ['usage list', 'outcome', [...OUTCOMES, FAILED]],
    ['usage list', 'endpoint', [...ENDPOINTS, 'all']],
    ['usage summary', 'by', SUMMARY_GROUPS],
    ['webhooks create', 'format', WEBHOOK_FORMATS],
    ['webhooks deliveries', 'status', DELIVERY_STATUSES],
  ]

  assert.deepEqual(FAILURES.toSorted(), ERROR_OUTCOMES.toSorted())
  for (const [usage, option, values] of expected)
    assert.deepEqual([...(valuesOf(usage, option) ?? [])].toSorted(), [...values].toSorted(), `${usage} --${option}`)
})

// Up to a pipe or a redirection, with quotes as a shell reads them.
function wordsOf(line: string): readonly string[] {
  const [own = ''] = line.replace(/^cat \S+ \| |^source <\(|\)$/g, '').split(/ [<>|] /)
  return [...own.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}
