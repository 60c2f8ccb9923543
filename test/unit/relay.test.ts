// A slow reader pauses the upstream and, once it has read, resumes it: only for as long as there is an answer to read.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../../src/domain/failure.ts'
import type { Answer, AnswerListener, Client } from '../../src/domain/handoff.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { relay } from '../../src/relay/relay.ts'
import type { Sink } from '../../src/relay/sink.ts'
import { meter } from '../../src/relay/usage-meter.ts'

const CHUNK = {
  choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }],
  usage: undefined,
  fingerprint: undefined,
}

test('a slow reader pauses the upstream, and resumes it when it has read', () => {
  const { upstream, drain, calls } = relaySlowly()
  upstream.chunks([CHUNK])
  drain()

  assert.deepEqual(calls, ['pause', 'resume'])
})

test('a slow reader that has read after the request was cancelled does not resume the aborted upstream', async () => {
  const { upstream, drain, cancel, calls, delivery } = relaySlowly()
  upstream.chunks([CHUNK])
  cancel(new Failure('cancelled', 'the key was revoked'))
  drain()

  assert.equal((await delivery).outcome, 'upstream_broke')
  assert.deepEqual(calls, ['pause', 'abort'])
})

test('what cannot be forwarded was produced, and is billed', async () => {
  const { upstream, delivery } = relaySlowly(() => {
    throw new RangeError('pieces of tool calls are out of order')
  })
  upstream.chunks([CHUNK])

  const { outcome, output } = await delivery
  assert.deepEqual([outcome, output.any, output.texts], ['upstream_broke', true, ['Hi']])
})

// To a caller that reads nothing until `drain`.
function relaySlowly(chunks: Sink['chunks'] = () => false) {
  const calls: string[] = []
  let upstream: AnswerListener | undefined
  let drain = () => {}
  let cancel = (_: Failure) => {}
  const stream = {
    pause: () => void calls.push('pause'),
    resume: () => void calls.push('resume'),
    abort: () => void calls.push('abort'),
    upstreamId: () => null,
  }
  const listen = (listener: AnswerListener) => {
    upstream = listener
  }
  const served = { provider: 'up', cost: undefined, ignored: [], stream, listen }
  const answer = { model: { id: 'test/m1' }, attempts: [], considered: [], served, failures: [], dispatchedAt: 0 }
  const sink: Partial<Sink> = {
    served: () => undefined,
    chunks,
    onDrain(listener) {
      drain = listener
    },
    headersLeft: () => true,
  }
  const client: Client = {
    gone: false,
    onGone: () => () => undefined,
    onCancelled(listener) {
      cancel = listener
      return () => undefined
    },
  }
  const needs = { clock: systemClock, readOnAfterFinishMs: 1000, readsOn: () => false }
  const delivery = relay(answer as unknown as Answer, sink as Sink, client, meter(), needs)
  assert.ok(upstream !== undefined)
  return { upstream: upstream as AnswerListener, drain, cancel, calls, delivery }
}
