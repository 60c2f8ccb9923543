// Arguments of the command line: strict, with messages of its own that name what was meant.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asksForHelp, readInput } from '../../src/cli/arguments.ts'
import type { Command } from '../../src/cli/command.ts'
import { suggest } from '../../src/cli/suggest.ts'

const COMMAND: Command = {
  usage: 'credits add ACCOUNT AMOUNT [options]',
  about: 'Adds credits.',
  examples: [],
  options: {
    note: { value: 'TEXT', about: 'a note' },
    rpm: { value: 'N', about: 'a number' },
    tag: { value: 'NAME=VALUE', multiple: true, about: 'a tag' },
    yes: { short: 'y', about: 'a flag' },
  },
  takes: [1, 2],
  hasRows: true,
  run: async () => 0,
}

test('options and arguments in any order, as people write them', () => {
  const input = readInput(COMMAND, [
    '--note=a=b',
    'acme',
    '-y',
    '--tag',
    'a=b',
    '-5.5',
    '--tag=c=d',
    '-ojson',
    '--rpm',
    '-1',
  ])

  assert.deepEqual(input.args, ['acme', '-5.5'])
  assert.deepEqual([input.text('note'), input.texts('tag'), input.text('rpm')], ['a=b', ['a=b', 'c=d'], '-1'])
  assert.deepEqual([input.flag('yes'), input.flag('quiet'), input.json, input.format], [true, false, true, 'json'])
  assert.deepEqual(readInput(COMMAND, ['-o', 'csv', '-q', '--', '--note', '-x']).args, ['--note', '-x'])
  assert.equal(readInput(COMMAND, ['a', '--json']).format, 'json')
  assert.equal(readInput(COMMAND, ['-']).args[0], '-')
})

const WRONG: Readonly<Record<string, RegExp>> = {
  '': /^missing argument: ACCOUNT\nusage: turnpike credits add ACCOUNT AMOUNT \[options\]$/,
  'a b c': /^unexpected argument: c\n/,
  'a --rmp 5': /^unknown option --rmp; did you mean --rpm\?\n/,
  'a --notes=secret': /^unknown option --notes; did you mean --note\?\n/,
  'a --qwertyuiop=secret': /^unknown option --qwertyuiop\n/,
  'a -x': /^unknown option -x\n/,
  'a -rpm 5': /^unknown option -r; did you mean --rpm\?\n/,
  'a --note': /^--note needs a value: --note TEXT\n/,
  'a --note --rpm 5': /^--note needs a value: --note TEXT; write --note=VALUE if the value starts with a dash\n/,
  'a --yes=1': /^--yes takes no value\n/,
  'a -o xml': /^-o must be one of table, wide, json, csv, tsv\n/,
}

for (const [line, message] of Object.entries(WRONG)) {
  test(`"${line}" is refused in words of our own, without values`, () => {
    assert.throws(
      () => readInput(COMMAND, line.split(' ').filter(Boolean)),
      (error: Error) => error.name === 'BadUsage' && message.test(error.message) && !error.message.includes('secret'),
    )
  })
}

test('help is asked for before a double dash only', () => {
  assert.equal(asksForHelp(['a', '-h']), true)
  assert.equal(asksForHelp(['--', '--help']), false)
})

test('a suggestion is close, and none is made for a word that is not', () => {
  const known = ['create', 'list', 'show', 'update', 'revoke']
  assert.equal(suggest('lsit', known), 'list')
  assert.equal(suggest('crate', known), 'create')
  assert.equal(suggest('upd', known), 'update')
  assert.equal(suggest('delete', known), undefined)
  assert.equal(suggest('x', known), undefined)
  assert.equal(suggest('l'.repeat(1_000_000), known), undefined)
})
