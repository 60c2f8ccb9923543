// The prices of many models change from the command line: a preview, a question, and exactly what was shown.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cli } from '../../../support/cli.ts'
import { openFixture } from '../../../support/fixture.ts'
import type { Loose } from '../../../support/http-call.ts'
import { onTerminal, visible } from '../../../support/terminal.ts'

const { gateway } = await openFixture()
const run = (...args: string[]) => cli(gateway, args)
const promptOf = async (id: string) => {
  const { body } = await gateway.admin<{ pricing: Loose }>('GET', `/models/${encodeURIComponent(id)}`)
  return body.pricing.prompt
}
for (const id of ['own/a', 'own/b'])
  await gateway.admin('POST', '/models', {
    id,
    context_length: 8192,
    max_output_tokens: 1024,
    targets: [{ provider: 'up', model: 'x' }],
    pricing: { prompt: '0.000002', completion: '0.00001' },
  })

test('without a terminal prices are shown, and saved with --yes', async () => {
  const shown = await run('models', 'reprice', '10')
  assert.equal(shown.code, 0, shown.stderr)
  assert.match(shown.stdout, /changed\town\/a\tprompt 2, completion 10,.*\tprompt 2\.2, completion 11,.*\t-\n/)
  assert.match(shown.stderr, /2 models; nothing was saved, pass --yes to save/)
  assert.equal(await promptOf('own/a'), '0.000002')

  const saved = await run('models', 'reprice', '10', '--yes')
  assert.match(saved.stderr, /the prices of 2 models were changed/)
  assert.deepEqual([await promptOf('own/a'), await promptOf('own/b')], ['0.0000022', '0.0000022'])
})

test('a negative percentage, of some models only; --dry-run saves nothing whatever else is given', async () => {
  const dry = await run('models', 'reprice', '-50', '--model', 'own/a', '--dry-run', '--yes', '--json')
  assert.deepEqual([dry.code, dry.json.dry_run], [0, true])
  assert.equal(await promptOf('own/a'), '0.0000022')

  const saved = await run('models', 'reprice', '-50', '--model', 'own/a', '--yes', '--json')
  assert.deepEqual([saved.code, saved.json.dry_run], [0, false])
  assert.deepEqual([await promptOf('own/a'), await promptOf('own/b')], ['0.0000011', '0.0000022'])
})

test('on a terminal it asks, and saves what was shown', async () => {
  const no = visible(await onTerminal(gateway, 'models reprice 100 --model own/a', { types: 'n\\n' }).catch(seenOf))
  assert.match(no, /prompt 1\.1[\s\S]*prompt 2\.2[\s\S]*Change the prices of 1 model\?[\s\S]*nothing was changed/)
  assert.equal(await promptOf('own/a'), '0.0000011')

  await onTerminal(gateway, 'models reprice 100 --model own/a', { types: 'y\\n' })
  assert.equal(await promptOf('own/a'), '0.0000022')
})

test('what cannot be changed is said', async () => {
  const file = await run('models', 'reprice', '10', '--model', 'test/m1', '--yes')
  assert.deepEqual([file.code, /skipped\ttest\/m1/.test(file.stdout)], [0, true])
  assert.match(file.stderr, /no price changes/)
  for (const percent of ['ten', '1e3', '0.001', '']) {
    assert.equal((await run('models', 'reprice', percent)).code, 2, percent)
  }
  assert.equal((await run('models', 'reprice', '-100')).code, 2)
  assert.equal((await run('models', 'reprice', '1', '--model', 'no/such')).code, 1)
})

function seenOf(error: Error & { stdout?: string }): string {
  return (error.stdout ?? '').replaceAll('\r\n', '\n')
}
