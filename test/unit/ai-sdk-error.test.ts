// Errors thrown and reported by the AI SDK's packages become Failures of the same kinds as with OpenAI-compatible
// providers, and nothing that they quote reaches the log.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { APICallError, LoadAPIKeyError, TypeValidationError, UnsupportedFunctionalityError } from '@ai-sdk/provider'
import { Failure } from '../../src/domain/failure.ts'
import { failureOfSaying, failureOfSdk, isUnknownShape } from '../../src/upstream/ai-sdk/error.ts'

const CANARY = 'prompt-canary'
const call = (more: object) =>
  new APICallError({ message: CANARY, url: 'https://host.example/x', requestBodyValues: { prompt: CANARY }, ...more })
const reset = new Failure('reset', 'gone', { stale: true })

const CASES: readonly (readonly [what: string, error: unknown, kind: string, status?: number])[] = [
  ['our own failure', reset, 'reset'],
  ['our own failure, wrapped twice', call({ cause: new Error('x', { cause: reset }) }), 'reset'],
  ['an answer of another shape', call({ message: 'Invalid JSON response', statusCode: 200 }), 'invalid_response', 200],
  ['a status that the package derived from an event', call({ statusCode: 529, responseBody: '{}' }), 'limited', 529],
  ['an error event with a status', { message: CANARY, type: 'x', statusCode: 500 }, 'status', 500],
  ["an error event that is the caller's", { message: 'too long', statusCode: 400 }, 'rejected', 400],
  ['an error event without a status', { message: CANARY, type: 'odd' }, 'status', 200],
  ['unsupported input', new UnsupportedFunctionalityError({ functionality: 'video' }), 'rejected', 400],
  ['a missing key', new LoadAPIKeyError({ message: CANARY }), 'credential'],
  ['a missing package', Object.assign(new Error('x'), { code: 'ERR_MODULE_NOT_FOUND' }), 'refused'],
  ['anything else', new TypeError(CANARY), 'invalid_response', 200],
  ['nothing at all', undefined, 'status', 200],
]
for (const [what, error, kind, status] of CASES) {
  test(`${what} is a failure of kind ${kind}`, () => {
    const failure = failureOfSdk(error, ['host.example'])

    assert.deepEqual([failure.kind, failure.status], [kind, status])
    assert.ok(!failure.message.includes(CANARY))
  })
}

test("the package's message about unsupported input is sent to the caller", () => {
  const { words } = failureOfSdk(new UnsupportedFunctionalityError({ functionality: 'media type: video/x' }), [])

  assert.match(words ?? '', /media type: video\/x/)
})

test('an event of an unknown shape is distinguished from one that is not JSON', () => {
  assert.equal(isUnknownShape(new TypeValidationError({ value: {}, cause: undefined })), true)
  assert.equal(isUnknownShape(new SyntaxError('x')), false)
})

test("an error before anything is sent is the caller's, unless it is our own failure or the credential's", () => {
  for (const [error, kind] of [
    [new TypeError(CANARY), 'rejected'],
    [CANARY, 'rejected'],
    [new UnsupportedFunctionalityError({ functionality: 'video' }), 'rejected'],
    [new LoadAPIKeyError({ message: CANARY }), 'credential'],
    [call({ cause: reset }), 'reset'],
  ] as const) {
    const failure = failureOfSaying(error, [])

    assert.equal(failure.kind, kind)
    assert.ok(!`${failure.message} ${failure.words}`.includes(CANARY))
    if (kind === 'rejected') assert.ok(failure.words)
  }
})
