// What operators see and change of targets while a change is on its way to this node.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TargetNeeds, targetMethods } from '../../src/admin/catalog-targets.ts'
import { OPERATOR } from '../support/engines.ts'

const target = (model: string) =>
  ({ model, state: 'closed', status: 'healthy', recent: {}, openUntil: null }) as unknown as Target
type Target = ReturnType<TargetNeeds['healthOf']>['targets'][number]

// `inForce` is what this node routes to; a refresh reads it from what is stored.
function node(stored: { disabled: string[] }, inForce: { models: string[] }) {
  const changes: unknown[] = []
  const needs = {
    catalog: {
      provider: async () => ({}),
      disabledTargets: async () =>
        stored.disabled.map(model => ({ providerId: 'up', model, actor: 'admin', disabledAt: 0 })),
      async setTargetDisabled({ model }: { model: string }, disabled: boolean) {
        changes.push([model, disabled])
        return 'done'
      },
    },
    healthOf: () => ({ targets: inForce.models.map(target), credentials: [] }),
    async refresh() {
      inForce.models = ['m1', 'm2'].filter(model => !stored.disabled.includes(model))
    },
    disabledTargetsMax: 9,
  }
  return { changes, methods: targetMethods(needs as unknown as TargetNeeds) }
}

test('a target that another node has just enabled can be disabled again, one that does not exist cannot', async () => {
  const { methods, changes } = node({ disabled: [] }, { models: ['m2'] })

  await methods.setTarget('up', { model: 'm1', disabled: true }, OPERATOR)

  assert.deepEqual(changes, [['m1', true]])
  await assert.rejects(methods.setTarget('up', { model: 'm3', disabled: true }, OPERATOR), /model/)
  assert.equal(changes.length, 1)
})

test('a target that another node has just disabled is listed once, as disabled', async () => {
  const { methods } = node({ disabled: ['m1'] }, { models: ['m1', 'm2'] })

  const { targets } = await methods.health('up')

  assert.deepEqual(
    targets.map(({ model, status }) => [model, status]),
    [
      ['m2', 'healthy'],
      ['m1', 'disabled'],
    ],
  )
})
