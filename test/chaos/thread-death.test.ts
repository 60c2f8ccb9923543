// The store's threads end: without its writer the process exits like after a crash, and the next start recovers
// everything; a lost reader is replaced.
import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Gateway, standardConfig, startGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'
import { settledRow } from '../support/usage.ts'

const PRELOAD = new URL('../support/thread-death-preload.ts', import.meta.url).href
// In the order in which the gateway starts them.
const [WRITER, READER] = [1, 2]

test('a gateway that lost a store thread recovers or exits', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url), nodeArgs: ['--import', PRELOAD] })
  const { secret } = await gateway.createKey()
  const chat = await gateway.chat({}, { key: secret })
  const usage = async () => (await gateway.get(`/v1/usage/${chat.headers['x-request-id']}`, secret)).status

  await t.test('a dead reader thread is replaced when it is needed', async () => {
    assert.equal(await usage(), 200)
    await endThread(gateway, READER)

    await until('another reader serves', async () => (await usage()) === 200)
    assert.equal((await gateway.chat({}, { key: secret })).status, 200)
  })

  await t.test('a dead writer thread ends the process with exit code 1, and the next start recovers', async () => {
    upstream.next({ stallAfterChunks: 2 })
    const stream = await gateway.openChat({}, { key: secret })
    await stream.nextChunk()
    await endThread(gateway, WRITER)

    assert.equal(await gateway.exited, 1)
    await gateway.restart()
    assert.equal((await settledRow(gateway, stream.headers['x-request-id'])).state, 'recovered')
    assert.equal((await gateway.chat({}, { key: secret })).status, 200)
  })

  assert.ok((await gateway.audit()).ok)
})

async function endThread(gateway: Gateway, thread: number): Promise<void> {
  const wish = join(gateway.dataDir, `death-of-thread-${thread}`)
  writeFileSync(wish, '')
  await until('the thread is stopped', () => !existsSync(wish))
}
