// One process per data dir: a second one is refused with a clear message, and the first is not affected.
import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { freePort } from '../../../support/free-port.ts'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { runProcess } from '../../../support/gateway-process.ts'
import { startUpstream } from '../../../support/upstream.ts'

test('a second process on the same data dir is refused, and the first is not affected', async () => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  upstream.next({ chunkDelayMs: 100 })
  const stream = await gateway.openChat()
  await stream.nextChunk()
  const env = {
    TURNPIKE_PORT: String(await freePort()),
    TURNPIKE_DATA_DIR: gateway.dataDir,
    TURNPIKE_CONFIG: gateway.configFile,
    TURNPIKE_ADMIN_TOKEN: 'the-token-of-the-second-process',
  }

  const second = await runProcess(['serve'], dirname(gateway.configFile), env)

  assert.equal(second.code, 2)
  assert.equal(second.stdout, '')
  assert.match(second.stderr, /^turnpike: another process is using the data directory [^\n]+\n$/)
  const { done, content } = await stream.rest()
  assert.ok(done && content.startsWith('Hello'))
  assert.equal((await gateway.chat()).status, 200)
  assert.equal((await gateway.admin('GET', '/keys')).status, 200)
  assert.ok((await gateway.audit()).ok)
})

test('the lock ends with its process, also by kill -9', async () => {
  await using gateway = await startGateway()

  await gateway.kill()
  await gateway.restart()

  assert.equal((await gateway.get('/ready')).status, 200)
  assert.ok((await gateway.audit()).ok)
})
