// A rolling change of the encryption key while all nodes serve: no credential is lost.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { ENCRYPTION_KEY, type Gateway } from '../../../support/gateway.ts'
import { startNodes } from '../../../support/nodes.ts'
import { hasPostgres } from '../../../support/postgres.ts'
import { standardModel } from '../../../support/standard-config.ts'
import { startUpstream } from '../../../support/upstream.ts'

const OLD = ENCRYPTION_KEY
const NEXT = 'cd'.repeat(32)

if (hasPostgres()) {
  test('during a rolling change of the encryption key each node serves what it can decrypt, and in the end all do', async t => {
    await using upstream = await startUpstream()
    const env = { TURNPIKE_ALLOW_PRIVATE_UPSTREAMS: '1', TURNPIKE_ENCRYPTION_KEY: OLD }
    await using nodes = await startNodes(2, { env })
    const [late, early] = nodes.all as [Gateway, Gateway]
    const key = await late.createKey({ credits: '10' })
    await enter(late, 'first', upstream.url)
    const served = (node: Gateway, ...providers: readonly string[]) =>
      Promise.all(providers.map(async id => (await node.chat({ model: `${id}/m` }, { key: key.secret })).status))

    await t.test('a node with only the old key continues with what it has decrypted', async () => {
      await early.restart({ TURNPIKE_ENCRYPTION_KEY: NEXT, TURNPIKE_ENCRYPTION_KEY_PREVIOUS: OLD })
      await early.admin('POST', '/models', { ...modelOf('first'), id: 'first/again' })
      await setTimeout(1000)

      assert.deepEqual([await served(late, 'first'), await served(early, 'first')], [[200], [200]])
      assert.equal((await late.chat({ model: 'first/again' }, { key: key.secret })).status, 200)
    })

    await t.test('it omits what was encrypted with the new key, with a warning, and nothing else', async () => {
      await enter(early, 'second', upstream.url)
      await setTimeout(1000)

      assert.deepEqual(await served(early, 'first', 'second'), [200, 200])
      assert.deepEqual(await served(late, 'first', 'second'), [200, 404])
      const warned = late.logs.filter(line => String(line.provider) === 'second' && String(line.level) === 'warn')
      assert.equal(warned.length, 1)
    })

    await t.test('nodes with the old key as the previous one decrypt what was encrypted with it', async () => {
      await enter(late, 'third', upstream.url)
      await setTimeout(1000)

      assert.deepEqual(await served(early, 'first', 'second', 'third'), [200, 200, 200])
    })

    await t.test('a start with only the old key is refused', async () => {
      const stray = await nodes.start({ awaitReady: false })

      assert.equal(await stray.exited, 2)
      assert.match(stray.lines.join('\n'), /TURNPIKE_ENCRYPTION_KEY cannot decrypt/)
    })

    await t.test('once all nodes have the new key, the old one is not needed', async () => {
      await late.restart({ TURNPIKE_ENCRYPTION_KEY: NEXT, TURNPIKE_ENCRYPTION_KEY_PREVIOUS: OLD })
      assert.deepEqual(await served(late, 'first', 'second', 'third'), [200, 200, 200])

      for (const node of [late, early]) await node.restart({ TURNPIKE_ENCRYPTION_KEY_PREVIOUS: undefined })
      for (const node of [late, early]) {
        assert.deepEqual(await served(node, 'first', 'second', 'third'), [200, 200, 200])
      }
    })

    const sent = new Set(upstream.journal.map(entry => entry.headers.authorization))
    assert.deepEqual([...sent].sort(), ['Bearer secret-of-first', 'Bearer secret-of-second', 'Bearer secret-of-third'])
  })
}

async function enter(node: Gateway, id: string, url: string): Promise<void> {
  const provider = { id, kind: 'openai', base_url: url, api_key: `secret-of-${id}` }
  assert.equal((await node.admin('POST', '/providers', provider)).status, 201)
  assert.equal((await node.admin('POST', '/models', modelOf(id))).status, 201)
}

function modelOf(id: string): object {
  return standardModel({ id: `${id}/m`, targets: [{ provider: id, model: 'm1' }] })
}
