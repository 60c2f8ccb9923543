// Tags of keys and requests: on every row, as filters and groups of usage, and malformed ones refused.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ALL_DIALECTS, dialectConfig } from '../../support/dialects.ts'
import { openFixture } from '../../support/fixture.ts'
import { type Answer, httpCall, type Loose } from '../../support/http-call.ts'
import { rawRequest } from '../../support/raw-http.ts'
import { assertRefusal, seen } from '../../support/refusal.ts'
import { until } from '../../support/until.ts'
import { settledRow } from '../../support/usage.ts'

const { gateway } = await openFixture(dialectConfig)
const tagged = await gateway.createKey({ tags: { team: 'search', 'cost.center': 'Zürich, 7' } })
const header = (tags: string) => ({ 'x-svc-tags': tags })
const rowOf = async (answer: Pick<Answer, 'headers'>): Promise<Loose> => {
  const path = `/usage/${answer.headers['x-request-id']}`
  await until('the row is written', async () => (await gateway.admin('GET', path)).status === 200)
  return (await gateway.admin('GET', path)).body
}

for (const dialect of ALL_DIALECTS) {
  test(`${dialect.name}: a row has the tags of its key and of its request, and those of the key win`, async () => {
    const ask = (tags: string, more = {}) =>
      httpCall(gateway.url + dialect.path, {
        body: dialect.body('Say hello'),
        headers: { authorization: `Bearer ${tagged.secret}`, ...header(tags), ...more },
      })

    const express = await ask('feature=re rank, team=ads')
    // What is not plain goes through Node's server.
    const plain = await ask('feature=re rank, team=ads', { 'proxy-connection': 'keep-alive' })

    for (const answer of [express, plain]) {
      assert.equal(answer.status, 200, answer.text)
      const row = (await settledRow(gateway, answer.headers['x-request-id'])) as unknown as Loose
      assert.deepEqual(row.tags, { 'cost.center': 'Zürich, 7', feature: 're rank', team: 'search' })
      const own = await gateway.get(`/v1/usage/${answer.headers['x-request-id']}`, tagged.secret)
      assert.deepEqual(own.body.tags, row.tags, 'callers see them too')
    }
  })
}

test('refusals have tags too, before and after the body', async () => {
  const spent = await gateway.createKey({ tags: { team: 'ads' }, rpm_limit: 2 })
  const ask = (body: object) => gateway.chat(body, { key: spent.secret, headers: header('run=1') })

  const unknown = await ask({ model: 'none' })
  const invalid = await ask({ temperature: 9 })
  const limited = await ask({})

  assert.deepEqual([unknown.status, invalid.status, limited.status], [404, 400, 429])
  for (const answer of [unknown, invalid, limited]) {
    assert.deepEqual((await rowOf(answer)).tags, { run: '1', team: 'ads' })
  }
})

test('malformed tags are a 400 that names the header, counts and leaves a row with the tags of the key', async () => {
  const nine = Array.from({ length: 9 }, (_, i) => `t${i}=x`).join(',')
  const wrong = [
    ...['team', '=x', 'team=', 'Team=x', 'te am=x', 'team =x', 'a=b,,c=d', 'a=b,', `${'a'.repeat(33)}=x`],
    ...[`team=${'x'.repeat(65)}`, 'team=a,team=b', nine, `team=${'x'.repeat(8000)}`, 'team=a\tb'],
  ]

  for (const tags of wrong) {
    const answer = await gateway.chat({}, { key: tagged.secret, headers: header(tags) })
    assertRefusal(answer, 'invalid_value', 'X-Svc-Tags')
    const row = await rowOf(answer)
    assert.deepEqual(row.tags, { 'cost.center': 'Zürich, 7', team: 'search' }, tags)
    assert.equal(row.error_code, 'invalid_value')
  }
  assertRefusal(await gateway.get('/v1/models', tagged.secret, header('Team=x')), 'invalid_value', 'X-Svc-Tags')
})

test('tags are read after the limits and the JSON of the body, and an empty header is none', async () => {
  const bad = { key: tagged.secret, headers: header('Team=x') }

  assertRefusal(await gateway.chat({}, { ...bad, key: 'svc_live_x' }), 'invalid_api_key')
  assertRefusal(
    await gateway.chat({}, { ...bad, headers: { ...bad.headers, 'content-type': 'text/plain' } }),
    'unsupported_media_type',
  )
  const broken = await rawRequest(
    gateway.port,
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${tagged.secret}\r\nX-Svc-Tags: Team=x\r\n` +
      'Content-Type: application/json\r\nContent-Length: 1\r\n\r\n{',
    { expect: 1 },
  )
  assertRefusal(seen(broken.answer), 'invalid_json')
  assert.equal((await gateway.chat({}, { key: tagged.secret, headers: header('') })).status, 200)
})

test('UTF-8 in a header is read as such, and two headers are one list', async () => {
  const body = JSON.stringify({ model: 'test/m1', messages: [{ role: 'user', content: 'Hi' }] })
  const bytes = Buffer.from(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${tagged.secret}\r\nX-Svc-Tags: city=Zürich\r\n` +
      `x-svc-tags: n=2\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )

  const { answer } = await rawRequest(gateway.port, bytes, { expect: 1 })

  assert.equal(answer.status, 200, answer.text)
  const row = (await settledRow(gateway, String(answer.header('x-request-id')))) as unknown as Loose
  assert.deepEqual(row.tags, { city: 'Zürich', 'cost.center': 'Zürich, 7', n: '2', team: 'search' })
  const other = Buffer.from(bytes.toString(), 'latin1')
  assertRefusal(seen((await rawRequest(gateway.port, other, { expect: 1 })).answer), 'invalid_value', 'X-Svc-Tags')
})

test('usage is filtered and summed by tag, for operators and callers, and CSV has the tags', async () => {
  const { secret, id } = await gateway.createKey({ tags: { squad: 'blue' } })
  const ask = (tags: string) => gateway.chat({}, { key: secret, headers: header(tags) })
  for (const tags of ['run=one', 'run=two', 'run=two, step=a']) {
    await settledRow(gateway, (await ask(tags)).headers['x-request-id'])
  }
  const count = async (query: string) => (await gateway.admin<List>('GET', `/usage?${query}`)).body.data.length
  const own = async (query: string) => (await gateway.get<List>(`/v1/usage?${query}`, secret)).body.data.length

  assert.equal(await count('tag=squad:blue'), 3)
  assert.equal(await count('tag=run:two'), 2)
  assert.equal(await count('tag=run:two&tag=step:a'), 1)
  assert.equal(await count('tag=run:tw'), 0)
  assert.deepEqual(
    [await own('tag=run:two'), await own('tag=run:two&tag=step:a'), await own('tag=squad:red')],
    [2, 1, 0],
  )
  const summary = async (query: string) => {
    const { body } = await gateway.admin<List>('GET', `/usage/summary?key_id=${id}&${query}`)
    return body.data.map(({ group, requests }) => [group, requests]).sort()
  }
  assert.deepEqual(await summary('group_by=tag:run'), [
    ['one', 1],
    ['two', 2],
  ])
  assert.deepEqual(await summary('group_by=tag:step'), [
    ['', 2],
    ['a', 1],
  ])
  assert.deepEqual(await summary('group_by=key&tag=run:two'), [[id, 2]])
  for (const [path, param] of [
    ['/usage?tag=team', 'tag'],
    ['/usage?tag=Team:x', 'tag'],
    [`/usage?${'tag=a:b&'.repeat(25)}`, 'tag'],
    ['/usage/summary?group_by=tag:', 'group_by'],
    ['/usage/summary?group_by=tag:A', 'group_by'],
    ['/usage/summary?group_by=color', 'group_by'],
  ] as const) {
    const { status, body } = await gateway.admin('GET', path)
    assert.deepEqual([status, String(body.error?.param).split('.')[0]], [400, param], path)
  }
  assertRefusal(await gateway.get('/v1/usage?tag=team', secret), 'invalid_value', 'tag')
  const csv = await gateway.admin('GET', `/usage?key_id=${id}&tag=step:a&format=csv`)
  assert.match(csv.text, /"\{""run"":""two"",""squad"":""blue"",""step"":""a""\}"/)
  assert.ok((await gateway.audit()).ok)
})

type List = { readonly data: readonly Readonly<Record<string, unknown>>[] }
