// The page about webhooks: every event is in it with its example, and both verification examples work.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { EVENT_SAMPLES } from '../../src/domain/event-samples.ts'
import { EVENT_TYPES } from '../../src/domain/events.ts'
import { messageOf } from '../../src/webhooks/message.ts'
import { newWebhookSecret, signedHeaders } from '../../src/webhooks/signature.ts'
import { temporaryFolder } from '../support/folder.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'

const PAGE = readFileSync(resolve('docs/webhooks.md'), 'utf8')
const block = (language: string) => new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(PAGE)?.[1] ?? ''

const SECRET = newWebhookSecret(length => new Uint8Array(length).fill(7))
const event = { id: 'evt_1', type: 'key.revoked', createdAt: Date.now(), data: JSON.stringify({ note: 'ä' }) }
const body = messageOf(event, 'standard')
const headers = signedHeaders({ id: 'evt_1', body, secrets: ['whsec_AAAA', SECRET] }, Date.now())

test('every event is explained and shown as it is sent', () => {
  const lines = block('json').trim().split('\n')
  const shown = lines.map(line => JSON.parse(line) as { type: keyof typeof EVENT_SAMPLES; data: unknown })

  assert.deepEqual(
    shown.map(({ type }) => type),
    [...EVENT_TYPES],
  )
  for (const { type, data } of shown) assert.deepEqual(data, EVENT_SAMPLES[type])
  const table = PAGE.slice(PAGE.indexOf('## Events'), PAGE.indexOf('The body, one example'))
  for (const type of EVENT_TYPES) assert.ok(table.includes(`\`${type}\``), type)
})

test('every event has a sentence for Slack', () => {
  for (const [type, data] of Object.entries(EVENT_SAMPLES)) {
    const { text } = JSON.parse(messageOf({ ...event, type, data: JSON.stringify(data) }, 'slack')) as { text: string }
    assert.match(text, /^\S.* .*\.$/, type)
    assert.doesNotMatch(text, /undefined|\[object/, type)
  }
})

test('the example for Python verifies a delivery, and refuses another body and an old one', () => {
  const check = `${block('python')}
import json, sys
secret, headers, body = json.loads(sys.stdin.read())
old = {**headers, "webhook-timestamp": str(int(headers["webhook-timestamp"]) - 1000)}
print(verify(secret, headers, body.encode()), verify(secret, headers, b"{}"), verify(secret, old, body.encode()))`

  const said = execFileSync('python3', ['-c', check], {
    input: JSON.stringify([SECRET, headers, body]),
    encoding: 'utf8',
  })

  assert.equal(said.trim(), 'True False False')
})

test('the example for Node answers 204 to a delivery and 401 to anything else', async () => {
  await using folder = await temporaryFolder()
  symlinkSync(resolve('node_modules'), join(folder.path, 'node_modules'))
  writeFileSync(join(folder.path, 'receiver.mjs'), block('js'))
  const port = await freePort()
  const env = { ...process.env, PORT: String(port), WEBHOOK_SECRET: SECRET }
  const server = spawn(process.execPath, [join(folder.path, 'receiver.mjs')], { env, stdio: 'ignore' })
  const post = (text: string) =>
    fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: text, headers }).then(({ status }) => status)
  try {
    await until('it listens', () =>
      post('{}').then(
        () => true,
        () => false,
      ),
    )

    assert.deepEqual([await post(body), await post(`${body} `)], [204, 401])
  } finally {
    server.kill()
    await once(server, 'exit')
  }
})
