// What a checkpoint says of the output so far: all that was spoken, of every choice, each word once, however often it is written.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keepCheckpoints } from '../../src/settle/checkpoint.ts'
import type { Held } from '../../src/settle/settle.ts'
import type { Checkpoint } from '../../src/store/contract.ts'

const BYTES_PER_TOKEN = 4
const FREE = { prompt: 0n, completion: 0n, cacheRead: 0n, cacheWrite: 0n, request: 0n }

test('the output of every choice is measured once, from mark to mark', () => {
  const marks: Checkpoint[] = []
  let ring = () => assert.fail('no alarm is set')
  const model = { id: 'm', contextLength: 1000, maxOutputTokens: 500, mediaMaxTokens: 0, prices: FREE }
  const held = { requestId: 'r', chat: { n: 2, promptBytes: 40, media: [] }, models: [model], capTokens: null }
  let output = { any: true, texts: ['a'.repeat(40)], bytesBeyond: 0 }
  const needs = {
    gates: { checkpoint: (mark: Checkpoint) => void marks.push(mark) },
    checkpointFirstMs: 1,
    checkpointEveryMs: 1,
    alarms: {
      set(_ms: number, next: () => void) {
        ring = next as typeof ring
        return { again: () => undefined, cancel: () => undefined }
      },
    },
  }
  const progress = () => ({ provider: 'p', model: model as never, at: 0 })
  keepCheckpoints(held as unknown as Held, { usage: undefined, output: () => output }, progress, needs)

  ring()
  output = { any: true, texts: ['a'.repeat(44), 'é'.repeat(20)], bytesBeyond: 0 }
  ring()
  output = { any: true, texts: ['a'.repeat(44), 'é'.repeat(24)], bytesBeyond: 8 }
  ring()

  const bytes = [40, 44 + 2 * 20, 44 + 2 * 24 + 8]
  assert.deepEqual(
    marks.map(mark => mark.tokens.completion),
    bytes.map(each => each / BYTES_PER_TOKEN),
  )
})
