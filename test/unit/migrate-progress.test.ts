// The progress of a migration: one line that redraws itself on a terminal, plain lines in a pipe, nothing with JSON.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { openProgress } from '../../src/cli/progress.ts'
import type { TransferTable } from '../../src/store/transfer/plan.ts'

const TABLE: TransferTable = { name: 'usage', columns: [], key: ['request_id'], role: 'ahead', first: false }

test('on a terminal a bar redraws itself on one line within its width, and leaves one line per stage', async () => {
  const { text } = await moved({ isTTY: true, columns: 60 }, false)

  const drawn = text().split('\r\u001b[2K')
  const bar = drawn.find(line => line.startsWith('copy ahead █'))
  assert.match(bar ?? '', /^copy ahead █{12}░{12} 5 of 10 rows/)
  assert.ok(drawn.every(line => line.split('\n').every(part => part.length < 60)))
  assert.match(text(), /\r\u001b\[2KStop it now\.\ncopy ahead: 10 rows, 9 copied, \d\.\d s\n$/)
})

test('in a pipe there are plain lines without control sequences', async () => {
  const { text } = await moved({}, false)

  assert.doesNotMatch(text(), /[\r\u001b]/)
  assert.match(text(), /^Stop it now\.\ncopy ahead: 10 rows, 9 copied, \d\.\d s\n$/)
})

test('with JSON in a pipe nothing is printed', async () => {
  const { text } = await moved({}, true)

  assert.equal(text(), '')
})

async function moved(kind: { readonly isTTY?: boolean; readonly columns?: number }, json: boolean) {
  let written = ''
  const progress = openProgress({ ...kind, write: (piece: string) => (written += piece) }, json)
  progress.stage('copy ahead', 10)
  await setTimeout(110)
  progress.page(TABLE, 5, 5)
  progress.say('Stop it now.')
  progress.page(TABLE, 5, 4)
  progress.end()
  return { text: () => written }
}
