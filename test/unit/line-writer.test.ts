// The writer of log lines: it never holds up whoever writes, and what it has no room for it counts.
import assert from 'node:assert/strict'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { lineWriter } from '../../src/lib/line-writer.ts'
import { temporaryFolder } from '../kit/folder.ts'
import { until } from '../kit/until.ts'

const LINE = `{"msg":"${'x'.repeat(1000)}"}\n`

test('lines that come faster than they can be written are dropped, and the next line says how many', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'log')
  const fd = openSync(path, 'w')
  const writer = lineWriter(fd)
  const read = () => readFileSync(path, 'utf8')

  // In one go: nothing can be written in between, as if the reader stood still.
  for (let i = 0; i < 2000; i++) writer.write(LINE)
  // The second buffer is on its way when more is there than the first one takes to be sent.
  await until('what was kept is written', () => read().length > 256 * 1024)
  writer.write('{"msg":"last"}\n')
  await until('the last line is written', () => read().endsWith('{"msg":"last"}\n'))
  closeSync(fd)

  const said = read().trimEnd().split('\n')
  const kept = said.filter(line => `${line}\n` === LINE).length
  assert.ok(kept > 100 && kept < 1200, `${kept} lines kept`)
  assert.deepEqual(said.slice(kept), [
    `{"level":"warn","msg":"log lines were dropped","lines":${2000 - kept}}`,
    '{"msg":"last"}',
  ])
})
