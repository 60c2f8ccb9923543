// Calls to the admin API that no correct client makes: duplicate credentials, and truncated bodies.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../../support/fixture.ts'
import { ADMIN_TOKEN } from '../../../support/gateway.ts'
import { openRaw, rawRequest } from '../../../support/raw-http.ts'
import { until } from '../../../support/until.ts'

const { gateway } = await openFixture()
const right = `Authorization: Bearer ${ADMIN_TOKEN}\r\n`
const wrong = 'Authorization: Bearer wrong\r\n'

for (const [what, headers] of Object.entries({
  'the right token and a wrong one': right + wrong,
  'a wrong token and the right one': wrong + right,
  'the right token twice': right + right,
  'the right token and an empty one': `${right}authorization:\r\n`,
})) {
  test(`${what} are refused as ambiguous`, async () => {
    const request = `GET /admin/v1/keys HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n`
    const { answer } = await rawRequest(gateway.port, request)

    assert.equal(answer.status, 400)
    assert.equal(JSON.parse(answer.text).error.code, 'duplicate_authorization')
  })
}

test('a call whose body is cut off is not an unexpected error', async () => {
  for (const target of ['POST /admin/v1/session', 'POST /admin/v1/keys', 'POST /nowhere']) {
    for (const framing of [
      'Content-Length: 100\r\n\r\n{"token":',
      'Transfer-Encoding: chunked\r\n\r\n9\r\n{"token":',
    ]) {
      for (const leave of ['reset', 'halfClose'] as const) {
        const before = await openConnections()
        using connection = await openRaw(gateway.port)
        connection.send(`${target} HTTP/1.1\r\nHost: x\r\n${right}Content-Type: application/json\r\n${framing}`)
        await until('it is being read', async () => (await openConnections()) > before)
        connection[leave]()
        await until('its connection is closed', async () => (await openConnections()) <= before)
      }
    }
  }

  const wrongs = gateway.logs.filter(({ level }) => String(level) === 'error')
  assert.deepEqual(wrongs, [])
})

async function openConnections(): Promise<number> {
  const { text } = await rawRequest(gateway.port, 'GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  return Number(/^turnpike_connections (\d+)/m.exec(text)?.[1])
}
