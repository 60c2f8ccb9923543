// The prices of many models change by a percentage: a preview, all or none, exact rounding, and one event for each.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BOUNDS } from '../../../src/config/limits.ts'
import { openFixture } from '../../support/fixture.ts'
import type { Loose } from '../../support/http-call.ts'
import { standardConfig } from '../../support/standard-config.ts'

const { gateway } = await openFixture(url => ({ ...standardConfig(url), credits_per_usd: '100', markup: '1.25' }))
const base = { context_length: 8192, max_output_tokens: 1024, targets: [{ provider: 'up', model: 'x' }] }
const tiers = [{ above_prompt_tokens: 1000, prompt: '0.000004', completion: '0.00002' }]
await create('own/a', { prompt: '0.000002', completion: '0.00001', tiers })
await create('own/b', { prompt: '0.000000000001', completion: '0', request: '0.01' })

type Row = { readonly model: string; readonly version: number; readonly change: string } & Record<
  'before' | 'after',
  Loose
>
const reprice = async (body: object) => {
  const { status, body: answer } = await gateway.admin<Loose>('POST', '/models/reprice', body)
  return { status, error: answer.error as unknown as Loose, data: answer.data as unknown as readonly Row[] }
}
const modelOf = async (id: string) => (await gateway.admin<Loose>('GET', `/models/${encodeURIComponent(id)}`)).body

test('a preview shows old and new prices of the models that operators own, and changes nothing', async () => {
  const before = await modelOf('own/a')

  const { data } = await reprice({ percent: '10', dry_run: true })

  assert.deepEqual(
    data.map(({ model, change, before: old, after }) => [model, change, old.prompt, after.prompt]),
    [
      ['own/a', 'changed', '0.00025', '0.000275'],
      ['own/b', 'changed', '0.000000000125', '0.000000000138'],
    ],
  )
  assert.deepEqual(await modelOf('own/a'), before)
})

test('saved with the versions of the preview: what was entered, what clients pay, tiers, and an event for each', async () => {
  const { data: preview } = await reprice({ percent: '-2.5', dry_run: true })

  const saved = await reprice({
    percent: '-2.5',
    models: preview.map(({ model, version }) => ({ id: model, version })),
  })

  assert.equal(saved.status, 200)
  const model = await modelOf('own/a')
  const [pricing, entered] = [model.pricing as unknown as Loose, model.entered_pricing as unknown as Loose]
  assert.deepEqual([pricing.prompt, entered.prompt, entered.completion], ['0.00024375', '0.00000195', '0.00000975'])
  assert.deepEqual(
    (entered.tiers as unknown as Loose[]).map(tier => [tier.above_prompt_tokens, tier.prompt]),
    [[1000, '0.0000039']],
  )
  const events = await gateway.admin<{ data: Loose[] }>('GET', '/events?action=model.update&limit=2')
  assert.deepEqual(events.body.data.map(({ subject }) => subject).sort(), ['own/a', 'own/b'])
})

test('nothing is saved if one of them has changed since the preview', async () => {
  const { data: preview } = await reprice({ percent: '50', dry_run: true })
  await gateway.admin('PATCH', '/models/own%2Fb', { name: 'Changed meanwhile' })
  const before = await modelOf('own/a')

  const { status } = await reprice({
    percent: '50',
    models: preview.map(({ model, version }) => ({ id: model, version })),
  })

  assert.equal(status, 409)
  assert.deepEqual(await modelOf('own/a'), before)
})

test('as many models as a catalog may have are saved by one request', async () => {
  const models = Array.from({ length: BOUNDS.modelsMax }, (_, i) => ({ id: `vendor/model-name-${i}`, version: 1 }))

  const { status, error } = await reprice({ percent: '10', models })

  assert.deepEqual([status, error.message], [409, 'The model vendor/model-name-0 no longer exists.'])
})

test('a repeated request does not change the prices twice: to save, versions are required', async () => {
  const { data: preview } = await reprice({ percent: '20', dry_run: true })
  const order = { percent: '20', models: preview.map(({ model, version }) => ({ id: model, version })) }

  const first = await reprice(order)
  const after = await modelOf('own/a')
  const second = await reprice(order)

  assert.deepEqual([first.status, second.status], [200, 409])
  for (const [body, param] of [
    [{ percent: '20' }, 'models'],
    [{ percent: '20', models: [{ id: 'own/a', version: after.version }, { id: 'own/b' }] }, 'models.1.version'],
  ] as const) {
    const { status, error } = await reprice(body)
    assert.deepEqual([status, error.code, error.param], [400, 'missing_field', param])
  }
  assert.deepEqual(await modelOf('own/a'), after)
})

test("the file's models are skipped, and what is not a percentage is refused", async () => {
  const { version } = await modelOf('test/m1')
  const { data } = await reprice({ percent: '10', models: [{ id: 'test/m1', version }] })
  assert.deepEqual(
    data.map(({ change, before, after }) => [change, before.prompt === after.prompt]),
    [['skipped', true]],
  )
  for (const percent of ['', 'ten', '-100', '1e3', '0.001']) {
    assert.equal((await reprice({ percent, dry_run: true })).status, 400, percent)
  }
  assert.equal((await reprice({ percent: '1', models: [{ id: 'no/such', version: 1 }] })).status, 409)
})

test('a price above the bounds of a model is refused, in a preview too, and nothing is saved', async () => {
  await create('own/dear', { prompt: '20', completion: '0' })
  await create('own/dear-request', { prompt: '0', completion: '0', request: '20000' })
  const ids = ['own/a', 'own/dear', 'own/dear-request']
  const before = await Promise.all(ids.map(modelOf))

  for (const [last, problem] of [
    ['own/dear', /one request to own\/dear could cost \d+ credits, and 90000000 is the most/],
    ['own/dear-request', /a price would be above 9000000/],
  ] as const) {
    for (const dry_run of [true, false]) {
      const models = await Promise.all(['own/a', last].map(async id => ({ id, version: (await modelOf(id)).version })))
      const { status, error } = await reprice({ percent: '400', models, dry_run })
      assert.deepEqual([status, error.param], [400, 'percent'])
      assert.match(String(error.message), problem)
    }
  }

  assert.deepEqual(await Promise.all(ids.map(modelOf)), before)
})

async function create(id: string, pricing: object): Promise<void> {
  const { status, text } = await gateway.admin('POST', '/models', { id, ...base, pricing })
  assert.equal(status, 201, text)
}
