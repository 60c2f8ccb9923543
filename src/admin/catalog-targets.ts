// Admin operations on the targets of a provider: disable, enable and test. A target is a provider's model, whichever models of the
// catalog it serves; that it is disabled belongs to no file, so that it outlives the next one.
import type { Failure } from '../domain/failure.ts'
import { Refusal } from '../domain/refusal.ts'
import type { Clock } from '../lib/clock.ts'
import type { Actor } from '../store/contract/operator.ts'
import { type CatalogNeeds, thenRefresh } from './catalog-input.ts'
import { type HealthObject, healthObject, type ProviderHealth } from './catalog-wire.ts'
import { conflict, unknown, wrong } from './input.ts'

export type TargetTestObject = {
  readonly object: 'target_test'
  readonly provider: string
  readonly model: string
  readonly credential_id: string | null
  readonly ok: boolean
  // `answered`, or how it failed.
  readonly outcome: string
  readonly status: number | null
  readonly duration_ms: number
  // What the provider said.
  readonly message: string
}

export type TargetMethods = {
  health(id: string): Promise<HealthObject>
  setTarget(
    id: string,
    change: { readonly model: string; readonly disabled: boolean },
    actor: Actor,
  ): Promise<HealthObject>
  testTarget(
    id: string,
    test: { readonly model: string; readonly credential_id?: string },
    actor: Actor,
  ): Promise<TargetTestObject>
}

export type TargetNeeds = CatalogNeeds & {
  healthOf(providerId: string): ProviderHealth
  test(request: {
    readonly providerId: string
    readonly model: string
    readonly credentialId?: string | undefined
  }): Promise<TestResult | 'unknown' | 'busy'>
  readonly disabledTargetsMax: number
  readonly testEveryMs: number
  readonly clock: Pick<Clock, 'monotonic'>
}

type TestResult = { readonly credentialId: string | null; readonly ms: number; readonly failure: Failure | undefined }

export function targetMethods(needs: TargetNeeds): TargetMethods {
  const { catalog } = needs
  let testedAtMs = Number.NEGATIVE_INFINITY

  async function health(id: string): Promise<HealthObject> {
    if ((await catalog.provider(id)) === undefined) throw unknown('provider')
    return healthObject(id, needs.healthOf(id), await catalog.disabledTargets(id))
  }

  // One that was enabled a moment ago, perhaps by another node, is no longer disabled in the store and not yet in force here.
  async function knows(id: string, model: string): Promise<boolean> {
    const isThere = async () => (await health(id)).targets.some(each => each.model === model)
    if (await isThere()) return true
    await needs.refresh()
    return isThere()
  }

  return {
    health,

    async setTarget(id, { model, disabled }, actor) {
      if (!(await knows(id, model)))
        throw wrong('model', `the provider's name of a model that an active model has as its target`)
      const changed = catalog.setTargetDisabled({ providerId: id, model }, disabled, needs.disabledTargetsMax, actor)
      const done = await thenRefresh(needs, changed)
      if (done === undefined) throw unknown('provider')
      if (done === 'too_many') throw conflict(`At most ${needs.disabledTargetsMax} targets can be disabled.`)
      return health(id)
    },

    async testTarget(id, { model, credential_id }, actor) {
      if (!(await knows(id, model))) throw wrong('model', 'the model of one of its targets')
      // All providers together: each test is a call that the provider charges for.
      const waitMs = testedAtMs + needs.testEveryMs - needs.clock.monotonic()
      if (waitMs > 0) throw tooSoon(waitMs)
      testedAtMs = needs.clock.monotonic()
      const result = await needs.test({ providerId: id, model, credentialId: credential_id })
      if (result === 'unknown') throw conflict('The provider is inactive, or it does not have this credential.')
      if (result === 'busy') throw tooSoon(needs.testEveryMs)
      const { failure, ms, credentialId } = result
      const outcome = failure?.kind ?? 'answered'
      await catalog.recordTest({ providerId: id, model, outcome }, actor)
      return {
        object: 'target_test',
        provider: id,
        model,
        credential_id: credentialId,
        ok: failure === undefined,
        outcome,
        status: failure === undefined ? 200 : (failure.status ?? null),
        duration_ms: ms,
        message: failure === undefined ? '' : (failure.words ?? failure.message),
      }
    },
  }
}

function tooSoon(waitMs: number): Refusal {
  const message = 'A test was sent a moment ago. Try again in a few seconds.'
  return new Refusal('rate_limit_exceeded', { message, retryAfter: waitMs / 1000 })
}
