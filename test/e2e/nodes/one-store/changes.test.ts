// Changes on one node reach the others: a changed catalog, however it is changed, and streams that must end.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cli } from '../../../support/cli.ts'
import { warmTokenizer } from '../../../support/fixture.ts'
import { type Gateway, standardConfig } from '../../../support/gateway.ts'
import { startNodes } from '../../../support/nodes.ts'
import { hasPostgres } from '../../../support/postgres.ts'
import { standardModel, standardProvider } from '../../../support/standard-config.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'

// One second, and one more for a busy machine.
const KNOWN_MS_MAX = 2000

type NodeList = { readonly data: readonly Record<string, unknown>[] }

if (hasPostgres()) {
  test('changes on one of three nodes reach all of them within a second', async t => {
    await using upstream = await startUpstream()
    const config = standardConfig(upstream.url)
    await using nodes = await startNodes(3, { config, env: { TURNPIKE_ALLOW_PRIVATE_UPSTREAMS: '1' } })
    const [first, second, third] = nodes.all as [Gateway, Gateway, Gateway]
    const key = await first.createKey({ credits: '10' })
    const chat = (node: Gateway, model: string) => node.chat({ model }, { key: key.secret })
    const isServed = (model: string) => async () =>
      (await Promise.all(nodes.all.map(node => chat(node, model)))).every(({ status }) => status === 200)

    await t.test('a model that operators add at one node is served by all', async () => {
      const provider = { id: 'own', kind: 'openai', base_url: upstream.url, api_key: 'entered-secret' }
      assert.equal((await first.admin('POST', '/providers', provider)).status, 201)
      const { targets: _, ...model } = standardModel({ id: 'own/m1' })
      const added = await second.admin('POST', '/models', { ...model, targets: [{ provider: 'own', model: 'm1' }] })
      assert.equal(added.status, 201)

      await until('every node serves it', isServed('own/m1'), KNOWN_MS_MAX)

      const called = upstream.journal.filter(entry => entry.headers.authorization === 'Bearer entered-secret')
      assert.ok(called.length >= 3, `${called.length}`)
    })

    await t.test('a target disabled at one node is used by none, until it is enabled at another', async () => {
      const statuses = async () =>
        (await Promise.all(nodes.all.map(node => chat(node, 'own/m1')))).map(answer => answer.status)
      const set = (node: Gateway, disabled: boolean) =>
        node.admin('PATCH', '/providers/own/targets', { model: 'm1', disabled })

      assert.equal((await set(first, true)).status, 200)
      await until('no node offers it', async () => (await statuses()).every(status => status === 404), KNOWN_MS_MAX)
      assert.equal((await set(third, false)).status, 200)
      await until('every node serves it again', isServed('own/m1'), KNOWN_MS_MAX)
    })

    await t.test('a file applied at one node takes effect at all nodes that have the same file', async () => {
      const next = standardConfig(upstream.url, {
        providers: [
          standardProvider(upstream.url),
          standardProvider(upstream.url, { id: 'new', api_key: 'of-the-file' }),
        ],
        models: [standardModel(), standardModel({ id: 'file/m2', targets: [{ provider: 'new', model: 'm1' }] })],
      })
      for (const node of nodes.all) await node.writeConfig(next)

      third.signal('SIGHUP')
      await until('the node itself has it', async () => (await chat(third, 'file/m2')).status === 200)
      await until('every node serves it', isServed('file/m2'), KNOWN_MS_MAX)

      const called = upstream.journal.filter(entry => entry.headers.authorization === 'Bearer of-the-file')
      assert.ok(called.length >= 3, `${called.length}`)
    })

    await t.test('a node with another file logs it and omits what it has no credentials for', async () => {
      const more = { id: 'third', base_url: `${upstream.url}/third` }
      const other = standardConfig(upstream.url, {
        providers: [standardProvider(upstream.url), standardProvider(upstream.url, more)],
        models: [standardModel(), standardModel({ id: 'third/m3', targets: [{ provider: 'third', model: 'm1' }] })],
      })
      await third.writeConfig(other)

      assert.equal((await cli(third, ['apply'])).code, 0)
      await until('it is in force there', async () => (await chat(third, 'third/m3')).status === 200)
      const saysSo = () =>
        first.logs.some(
          line => String(line.msg) === 'another node has applied another configuration file than this one',
        )
      await until('another node logs it', saysSo, KNOWN_MS_MAX)

      assert.deepEqual([await chat(first, 'third/m3'), await chat(first, 'test/m1')].map(status), [404, 200])
      assert.ok(first.logs.some(line => String(line.provider) === 'third' && /left out/.test(String(line.msg))))
      await first.restart()
      assert.ok(first.logs.some(line => /superseded by a newer one/.test(String(line.msg))))
    })

    await t.test('a revoke that ends streams ends those of every node within a second', async () => {
      for (const gateway of nodes.all) await warmTokenizer({ gateway, upstream })
      upstream.script({ words: Array.from({ length: 100 }, (_, i) => ` ${i}`), chunkDelayMs: 100 })
      const { id, secret } = await first.createKey()
      const streams = await Promise.all(nodes.all.map(node => node.openChat({}, { key: secret })))
      const others = await Promise.all(nodes.all.map(node => node.openChat({}, { key: key.secret })))
      await Promise.all(streams.map(stream => stream.nextChunk()))

      const asked = performance.now()
      await second.admin('POST', `/keys/${id}/revoke`, { abort_streams: true })
      const ends = await Promise.all(streams.map(stream => stream.rest()))
      const tookMs = performance.now() - asked

      assert.ok(tookMs < KNOWN_MS_MAX, `took ${tookMs} ms`)
      assert.deepEqual(
        ends.map(({ done, chunks }) => [done, chunks.at(-1)?.error !== undefined]),
        [true, true, true].map(done => [done, true]),
      )
      for (const other of others) assert.notEqual(await other.nextChunk(), undefined)
      for (const other of others) other[Symbol.dispose]()
      upstream.reset()
    })

    await t.test('each node lists all nodes, and the CLI prints the list', async () => {
      await until('nothing is in flight', isServed('test/m1'))
      const lists = await Promise.all(
        nodes.all.map(async node => (await node.admin<NodeList>('GET', '/nodes')).body.data),
      )
      const printed = await cli(second, ['nodes'])
      const json = (await cli(second, ['nodes', '--json'])).json as unknown as NodeList['data']

      for (const list of lists) {
        assert.deepEqual(
          list.map(node => [node.object, node.state]),
          [1, 2, 3].map(() => ['node', 'alive']),
        )
        assert.equal(list.filter(node => node.self).length, 1)
      }
      const ports = nodes.all.map(node => String(node.port)).sort()
      assert.deepEqual(json.map(node => String(node.name).split(':').at(-1)).sort(), ports)
      assert.equal(printed.stdout.trim().split('\n').length, 4)
      assert.match(printed.stdout, /^id\tname\tversion\tstate/)
    })

    await t.test('a node that stops cleanly leaves the list at once', async () => {
      await third.stop({ hurry: true })

      const { data } = (await first.admin<NodeList>('GET', '/nodes')).body
      assert.equal(data.length, 2)
    })
  })
}

function status(answer: { readonly status: number }): number {
  return answer.status
}
