// Complete lines from a stream with any split.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { passLines } from '../../src/server/cluster/primary.ts'

test('lines are complete for any split of the bytes, also within a character', async () => {
  const text = '{"a":1}\n{"ü":"€😀"}\n\nlast\n'
  for (let size = 1; size <= Buffer.byteLength(text); size++) {
    const bytes = Buffer.from(text)
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      bytes.subarray(i * size, (i + 1) * size),
    )

    assert.deepEqual(await passed(chunks), ['{"a":1}\n', '{"ü":"€😀"}\n', '\n', 'last\n'], `split every ${size} bytes`)
  }
})

test('an unfinished line at the end is completed, and an endless one is not stored', async () => {
  assert.deepEqual(await passed([Buffer.from('whole\nhalf')]), ['whole\n', 'half\n'])

  const endless = await passed(Array.from({ length: 5 }, () => Buffer.alloc(512 * 1024, 'x')))
  assert.ok(endless.length > 1)
  assert.ok(endless.every(line => line.endsWith('\n')))
})

async function passed(chunks: readonly Buffer[]): Promise<readonly string[]> {
  const from = new PassThrough()
  const lines: string[] = []
  passLines(from, bytes => {
    assert.ok(bytes.toString().endsWith('\n'), 'only complete lines')
    lines.push(...bytes.toString().split(/(?<=\n)/))
  })
  for (const chunk of chunks) from.write(chunk)
  from.end()
  await once(from, 'end')
  return lines
}
