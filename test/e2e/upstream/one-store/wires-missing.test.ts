// A provider kind whose package is not installed: the start names what to install, and everything else works without
// it.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { startGateway } from '../../../support/gateway.ts'
import { WIRES, wiresConfig } from '../../../support/wires.ts'

const nodeArgs = ['--import', new URL('../../../support/missing-package-preload.ts', import.meta.url).href]

test('a configured provider kind without its package stops the start and names the install command', async () => {
  const config = wiresConfig('http://127.0.0.1:1')

  await using gateway = await startGateway({ config, nodeArgs, awaitReady: false })

  assert.equal(await gateway.exited, 2)
  const said = gateway.lines.join('\n')
  assert.match(said, /providers of kind cohere require a package that is not installed: npm install @ai-sdk\/cohere$/m)
  assert.ok(!existsSync(gateway.dataDir))
})

test('the package is not needed unless it is configured', async () => {
  const config = wiresConfig(
    'http://127.0.0.1:1',
    WIRES.filter(({ kind }) => kind !== 'cohere'),
  )

  await using gateway = await startGateway({ config, nodeArgs })

  assert.equal((await gateway.chat({ model: 'test/anthropic' })).status, 502)
})
