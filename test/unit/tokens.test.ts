// Token counts: exact if possible, bounded in time for any text, and fair between callers.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { systemClock } from '../../src/lib/clock.ts'
import { type TokenCounter, tokenCounter } from '../../src/lib/token-counter.ts'

const LONG_MS = 20_000
const PROSE = 'It was the best of times; it was the worst of times, wasn’t it?\n\n  "Indeed," she said — 1859. '

test('an empty text has no tokens, and starts no thread', async () => {
  const counter = tokenCounter({ timeoutMs: 0 })

  assert.partialDeepStrictEqual(await counter.count('', 'a'), { tokens: 0, exact: true })
  await counter.close()
})

test('ordinary texts of any length are counted exactly', async () => {
  const counter = tokenCounter({ timeoutMs: LONG_MS })
  const piece = fc.constantFrom(
    'word',
    ' word',
    '\n',
    '  ',
    '\n\n ',
    'é',
    '日本語',
    '😀',
    "'s",
    ' 12345',
    '!',
    ' {"a":',
    '\t',
    'A',
    '.',
  )

  for (const text of ['hello world', PROSE, PROSE.repeat(3000), `${PROSE}\n`.repeat(500)]) {
    assert.partialDeepStrictEqual(await counter.count(text, 'a'), { tokens: reference(text), exact: true })
  }
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 40, size: 'max' }), async pieces => {
      const text = `${pieces.join('')} `.repeat(pieces.length > 30 ? 400 : 1)
      assert.partialDeepStrictEqual(await counter.count(text, 'a'), { tokens: reference(text), exact: true })
    }),
    { numRuns: 100 },
  )
  await counter.close()
})

test('several texts, short and long, are counted as if newlines joined them', async () => {
  const counter = tokenCounter({ timeoutMs: LONG_MS })
  const long = `${PROSE}end`.repeat(1000)

  for (const texts of [
    ['one', 'two'],
    ['', 'one', ''],
    [long, 'x', long],
    Array.from({ length: 5000 }, () => 'a few words'),
  ]) {
    const { tokens, exact } = await counter.count(texts, 'a')

    assert.equal(exact, true)
    assert.ok(Math.abs(tokens - reference(texts.join('\n'))) <= 4, `${tokens} of ${reference(texts.join('\n'))}`)
  }
  assert.partialDeepStrictEqual(await counter.count(['', ''], 'a'), { tokens: 0, exact: true })
  const large = Array.from({ length: 3 }, () => 'a'.repeat(3 * 1024 * 1024))
  assert.partialDeepStrictEqual(await counter.count(large, 'a'), { tokens: 4.5 * 1024 * 1024, exact: false })
  await counter.close()
})

test('special tokens, lone surrogates, NUL and emoji are text like any other', async () => {
  const counter = tokenCounter({ timeoutMs: LONG_MS })

  for (const text of [
    '<|endoftext|>',
    '<|im_start|>user<|endofprompt|>',
    '\ud800',
    '\udc00\ud800x',
    '\0',
    '👩‍👩‍👧‍👦'.repeat(9),
  ]) {
    const { tokens, exact } = await counter.count(text, 'a')

    assert.equal(exact, true, JSON.stringify(text))
    assert.ok(tokens >= 1 && tokens <= Buffer.byteLength(text), `${JSON.stringify(text)}: ${tokens}`)
  }
  assert.ok((await counter.count('<|endoftext|>', 'a')).tokens > 1)
  await counter.close()
})

test('four megabytes of one letter, or of spaces, are counted in bounded time', async () => {
  const counter = tokenCounter({ timeoutMs: LONG_MS })

  for (const letter of ['a', ' ', '\n', '日']) {
    const { tokens, exact } = await counter.count(letter.repeat(4_000_000 / Buffer.byteLength(letter)), 'a')

    assert.equal(exact, true)
    assert.ok(tokens > 0 && tokens < 4_000_000)
  }
  await counter.close()
})

test('a text over eight megabytes is estimated at half its bytes instead of counted', async () => {
  const counter = tokenCounter({ timeoutMs: LONG_MS })

  assert.partialDeepStrictEqual(await counter.count('a'.repeat(8 * 1024 * 1024 + 1), 'a'), {
    tokens: 4 * 1024 * 1024 + 1,
    exact: false,
  })
  assert.partialDeepStrictEqual(await counter.count('日'.repeat(3_000_000), 'a'), { tokens: 4_500_000, exact: false })
  await counter.close()
})

test('past the time cap the result is half the bytes, and a thread that was only loading serves the next', async () => {
  const counter = tokenCounter({ timeoutMs: 200 })
  const slow = randomLetters(4_000_000)
  const began = systemClock.monotonic()

  const answer = await counter.count(slow, 'a')

  assert.partialDeepStrictEqual(answer, { tokens: 2_000_000, exact: false })
  assert.ok(systemClock.monotonic() - began < 2000)
  assert.partialDeepStrictEqual(await untilExact(counter, 'hello world'), { tokens: 2, exact: true })
  await counter.close()
})

test('a thread stuck on one text is ended, and the others get their result from a new one or at their own cap', async () => {
  // Far longer than two words take on a busy machine, and far shorter than this slice of rare characters takes on a
  // fast one.
  const counter = tokenCounter({ timeoutMs: 25 })
  await untilExact(counter, 'hello world')
  const slow = randomLetters(16_000, 0x4e00, 20_000)

  const answers = await Promise.all([counter.count(slow, 'a'), counter.count('hello world', 'a')])

  assert.partialDeepStrictEqual(answers[0], { tokens: 24_000, exact: false })
  assert.ok(answers[1].tokens === 2 || answers[1].tokens === 6)
  assert.partialDeepStrictEqual(await untilExact(counter, 'hello world'), { tokens: 2, exact: true })
  await counter.close()
})

test('a small text does not wait for an earlier large one', async () => {
  const counter = tokenCounter({ timeoutMs: LONG_MS })
  await counter.count('warm', 'a')
  const order: string[] = []

  const large = counter.count(randomLetters(200_000), 'a').then(() => order.push('large'))
  const small = Array.from({ length: 50 }, (_, i) => counter.count(`text ${i}`, 'a').then(() => order.push('small')))
  await Promise.all([large, ...small])

  assert.equal(order.at(-1), 'large')
  await counter.close()
})

test('an owner with one text does not wait for the many of another owner', async () => {
  const counter = tokenCounter({ timeoutMs: LONG_MS })
  await counter.count('warm', 'a')
  const order: string[] = []

  const load = Array.from({ length: 50 }, () =>
    counter.count(PROSE.repeat(300), 'greedy').then(() => order.push('many')),
  )
  const one = counter.count(PROSE.repeat(300), 'modest').then(() => order.push('one'))
  const two = counter.count('hello world', 'small').then(() => order.push('two'))
  await Promise.all([...load, one, two])

  assert.equal(order.length, 52)
  for (const name of ['one', 'two']) assert.ok(order.indexOf(name) < 5, `${name} was number ${order.indexOf(name)}`)
  await counter.close()
})

test('many concurrent texts each get their own count', async () => {
  const counter = tokenCounter({ timeoutMs: LONG_MS })
  const texts = Array.from({ length: 500 }, (_, i) => `${PROSE} number ${i} `.repeat(1 + (i % 7)))

  const counts = await Promise.all(texts.map(text => counter.count(text, 'a')))

  assert.partialDeepStrictEqual(
    counts,
    texts.map(text => ({ tokens: reference(text), exact: true })),
  )
  await counter.close()
})

test('after an idle time the thread ends, and is restarted when needed', async () => {
  const counter = tokenCounter({ timeoutMs: LONG_MS, idleMs: 20 })

  assert.equal((await counter.count('hello world', 'a')).exact, true)
  await sleep(100)
  assert.partialDeepStrictEqual(await counter.count('hello world', 'a'), { tokens: 2, exact: true })
  await counter.close()
})

test('closing resolves current and later calls with half the bytes', async () => {
  const counter = tokenCounter({ timeoutMs: LONG_MS })
  const waiting = [counter.count('abcd', 'a'), counter.count('abcdef', 'a')]

  await counter.close()

  assert.partialDeepStrictEqual(await Promise.all([...waiting, counter.count('ab', 'a')]), [
    { tokens: 2, exact: false },
    { tokens: 3, exact: false },
    { tokens: 1, exact: false },
  ])
})

test('an open counter does not keep the process alive', () => {
  const script = `import { tokenCounter } from ${JSON.stringify(new URL('../../src/lib/token-counter.ts', import.meta.url))}
    console.log(JSON.stringify(await tokenCounter({ timeoutMs: ${LONG_MS} }).count('hello world', 'a')))`

  const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    timeout: LONG_MS,
    encoding: 'utf8',
  })

  assert.partialDeepStrictEqual(JSON.parse(output), { tokens: 2, exact: true })
})

function reference(text: string): number {
  return countTokens(text, { disallowedSpecial: new Set() })
}

// The worst case: one long word that no cache has.
function randomLetters(length: number, first = 97, letters = 26): string {
  let seed = 12345
  const unit = () => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0
    return String.fromCharCode(first + ((seed >>> 16) % letters))
  }
  return Array.from({ length }, unit).join('')
}

async function untilExact(counter: TokenCounter, text: string): ReturnType<TokenCounter['count']> {
  const deadline = systemClock.monotonic() + LONG_MS
  while (systemClock.monotonic() < deadline) {
    const answer = await counter.count(text, 'a')
    if (answer.exact) return answer
  }
  return assert.fail('never counted')
}
