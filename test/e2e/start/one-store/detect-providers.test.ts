// Provider keys in the environment: a start without a file offers their models at list price, and stores no key.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Gateway, startGateway } from '../../../support/gateway.ts'
import { standardConfig } from '../../../support/standard-config.ts'

const KEY = 'sk-environment-canary-0815'
const ENV = { OPENAI_API_KEY: KEY, GROQ_API_KEY: `${KEY}-groq`, TURNPIKE_DETECT_PROVIDERS: undefined }

test('providers with keys in the environment are offered at list price next to the demo and shown once', async t => {
  await using gateway = await startGateway({ env: { ...ENV, TURNPIKE_ADMIN_TOKEN: undefined } })
  const token = /Admin token +(\S+)/.exec(gateway.lines.join('\n'))?.[1]
  const admin = (path: string) => gateway.admin('GET', path, undefined, { authorization: `Bearer ${token}` })

  await t.test('the welcome message names the detected providers', () => {
    assert.match(gateway.lines.join('\n'), /Found OPENAI_API_KEY: .*openai\/gpt-4o-mini/)
    assert.match(gateway.lines.join('\n'), /Found GROQ_API_KEY: groq\//)
  })

  await t.test('models have list prices and their own names', async () => {
    const mini = (await admin('/models/openai%2Fgpt-4o-mini')).body
    const provider = (await admin('/providers/openai')).body

    assert.deepEqual([mini.pricing?.prompt, mini.pricing?.completion], ['0.00000015', '0.0000006'])
    assert.deepEqual([mini.aliases, mini.provisioned, mini.max_output_tokens], [['gpt-4o-mini'], true, 16_384])
    assert.deepEqual([provider.base_url, provider.credentials?.[0]?.last4], ['https://api.openai.com/v1', '0815'])
    assert.equal((await admin('/models/demo%2Fecho')).status, 200)
  })

  await t.test('no key is on disk or in the log', () => {
    for (const name of readdirSync(gateway.dataDir)) {
      assert.ok(!readFileSync(join(gateway.dataDir, name)).includes(KEY), name)
    }
    assert.ok(!gateway.lines.join('\n').includes(KEY))
  })
})

test('a removed variable, or detection switched off, removes the models', async () => {
  await using gateway = await startGateway({ env: ENV })
  const first = await names(gateway)

  await gateway.restart({ GROQ_API_KEY: undefined })
  const second = await names(gateway)
  await gateway.restart({ TURNPIKE_DETECT_PROVIDERS: '0' })
  const third = await names(gateway)

  assert.ok(first.some(name => name.startsWith('groq/')) && first.includes('openai/gpt-4o-mini'))
  assert.ok(!second.some(name => name.startsWith('groq/')) && second.includes('openai/gpt-4o-mini'))
  assert.deepEqual(third, ['demo/echo', 'demo/embed'])
})

test("an operator's provider of the same name is not replaced by detection", async () => {
  await using gateway = await startGateway({ env: { TURNPIKE_DETECT_PROVIDERS: undefined } })
  const document = { id: 'openai', kind: 'openai', base_url: 'https://1.1.1.1/v1', api_key: 'sk-own-0123456789abcdef' }
  await gateway.admin('POST', '/providers', document)

  await gateway.restart(ENV)

  const { body } = await gateway.admin('GET', '/providers/openai')
  assert.deepEqual([body.base_url, body.provisioned, body.credentials?.[0]?.last4], [document.base_url, false, 'cdef'])
  assert.ok((await names(gateway)).every(name => !name.startsWith('openai/')))
})

test('with a file nothing is detected, and an invalid key is named without its value', async () => {
  await using withFile = await startGateway({ config: standardConfig('http://127.0.0.1:9/v1'), env: ENV })
  await using bent = await startGateway({ env: { ...ENV, OPENAI_API_KEY: 'not a key canary' } })

  assert.deepEqual(await names(withFile), ['test/m1'])
  assert.ok(!(await names(bent)).some(name => name.startsWith('openai/')))
  const line = bent.logs.find(each => String(each.variable) === 'OPENAI_API_KEY')
  assert.deepEqual([line?.level, JSON.stringify(line).includes('canary')], ['warn', false])
})

async function names(gateway: Gateway): Promise<readonly string[]> {
  const { secret } = await gateway.createKey()
  const { body } = await gateway.get<{ data: { id: string }[] }>('/v1/models', secret)
  return body.data.map(({ id }) => id)
}
