// A silence inside a stream is filled in the way of each dialect.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withBounds } from '../../support/bounds.ts'
import { DIALECTS, dialectConfig } from '../../support/dialects.ts'
import { openFixture } from '../../support/fixture.ts'
import { httpCall } from '../../support/http-call.ts'

const { gateway, upstream } = await openFixture(dialectConfig, withBounds({ keepAliveAfterMs: 200 }))
const { secret } = await gateway.createKey()

for (const dialect of DIALECTS) {
  test(`${dialect.name}: a silent stream is kept alive, and its text is whole`, async () => {
    upstream.next({ chunkDelayMs: 900, words: ['one', ' two', ' three'] })

    const answer = await httpCall(gateway.url + dialect.path, {
      body: dialect.body('Say hello', { stream: true }),
      headers: { authorization: `Bearer ${secret}` },
    })

    assert.ok(answer.text.includes(dialect.keepAlive), answer.text)
    assert.deepEqual([dialect.stream(answer.text).text, dialect.stream(answer.text).complete], ['one two three', true])
  })
}
