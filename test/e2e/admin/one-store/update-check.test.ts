// The check for a newer version in a running gateway: off by default, asked by nobody but an operator who looks, and never in the
// way of anything.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { version } from '../../../../src/lib/version.ts'
import { type Gateway, standardConfig, startGateway } from '../../../support/gateway.ts'
import { createServer } from '../../../support/node-http.ts'
import { until } from '../../../support/until.ts'

const update = async (gateway: Gateway) => {
  const { body } = await gateway.admin<{ readonly update_available: string | null }>('GET', '/settings')
  return body.update_available
}

test('an operator sees the newer version, and the URL is asked once', async () => {
  await using source = await startSource('{"latest":"99.0.0"}')
  await using gateway = await startGateway({ env: { TURNPIKE_UPDATE_URL: `${source.url}/latest` } })
  await gateway.chat({ model: 'demo/echo' })
  assert.equal(source.asked.length, 0)

  await until('the version is known', async () => (await update(gateway)) === '99.0.0')

  assert.equal(await update(gateway), '99.0.0')
  const [{ method, url, headers } = {}] = source.asked
  assert.deepEqual([source.asked.length, method, url], [1, 'GET', '/latest'])
  assert.equal(headers?.['user-agent'], `turnpike/${version()}`)
  assert.deepEqual([headers?.authorization, headers?.cookie], [undefined, undefined])
})

test('a URL that never answers delays nobody, and the file may name it too', async () => {
  await using source = await startSource(undefined)
  await using gateway = await startGateway({
    config: standardConfig(source.url, { update_url: `${source.url}/never` }),
  })

  const started = performance.now()
  const answers = [await update(gateway), await update(gateway)]

  assert.deepEqual(answers, [null, null])
  assert.ok(performance.now() - started < 5000, 'settings are answered before the check ends')
  await until('it was asked', () => source.asked.length === 1)
  assert.equal(await gateway.stop(), 0)
})

test('without a URL nothing is asked, and a bad one stops the start', async () => {
  await using gateway = await startGateway()
  assert.equal(await update(gateway), null)

  for (const url of ['latest', 'ftp://example.com/latest', 'https://user:secret@example.com/latest']) {
    await assert.rejects(startGateway({ env: { TURNPIKE_UPDATE_URL: url } }), /TURNPIKE_UPDATE_URL must be an http/)
    await assert.rejects(startGateway({ config: { update_url: url } }), /update_url: must be an http/)
  }
})

async function startSource(answer: string | undefined) {
  const asked: IncomingMessage[] = []
  const server = createServer((request, response) => {
    asked.push(request)
    if (answer !== undefined) response.end(answer)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
