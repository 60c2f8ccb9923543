// What the AI SDK's packages throw and report, as Failures of the same kinds as on OpenAI's wire; and nothing that they quote
// reaches the log.
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
  ['our own failure in two wrappings', call({ cause: new Error('x', { cause: reset }) }), 'reset'],
  ['an answer of another shape', call({ message: 'Invalid JSON response', statusCode: 200 }), 'invalid_response', 200],
  ['a status that the package made of an event', call({ statusCode: 529, responseBody: '{}' }), 'limited', 529],
  ['an event of an error with a status', { message: CANARY, type: 'x', statusCode: 500 }, 'status', 500],
  ['an event of an error that is the caller’s', { message: 'too long', statusCode: 400 }, 'rejected', 400],
  ['an event of an error without a status', { message: CANARY, type: 'odd' }, 'status', 200],
  ['what it cannot say', new UnsupportedFunctionalityError({ functionality: 'video' }), 'rejected', 400],
  ['a key that is missing', new LoadAPIKeyError({ message: CANARY }), 'credential'],
  ['a package that is missing', Object.assign(new Error('x'), { code: 'ERR_MODULE_NOT_FOUND' }), 'refused'],
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

test('what the package cannot say is told to the caller in its words', () => {
  const { words } = failureOfSdk(new UnsupportedFunctionalityError({ functionality: 'media type: video/x' }), [])

  assert.match(words ?? '', /media type: video\/x/)
})

test('an event of a shape that the package does not know is told from one that is no JSON', () => {
  assert.equal(isUnknownShape(new TypeValidationError({ value: {}, cause: undefined })), true)
  assert.equal(isUnknownShape(new SyntaxError('x')), false)
})

test('what is thrown before anything is sent is the caller’s, unless it is our own failure or the credential’s', () => {
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
