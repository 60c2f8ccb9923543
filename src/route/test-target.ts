// A request of a few tokens that an operator sends to one target, with fixed content and without a row or a charge. It changes
// nothing about the target's health.
import type { Failure } from '../domain/failure.ts'
import type { Catalog } from './catalog.ts'
import type { Targets } from './targets.ts'

export type TestRequest = {
  readonly providerId: string
  readonly model: string
  // The first one by default.
  readonly credentialId?: string | undefined
}

export type TestResult = {
  readonly credentialId: string | null
  readonly ms: number
  readonly failure: Failure | undefined
}

// Some models refuse fewer.
const OUTPUT_TOKENS = 16

// `unknown`: no such provider or credential is in force. `busy`: one is under way, or too many are.
export async function testTarget(
  { providerId, model, credentialId }: TestRequest,
  targets: Targets,
  catalog: Catalog,
): Promise<TestResult | 'unknown' | 'busy'> {
  const provider = catalog.provider(providerId)
  const credentials = catalog.credentials(providerId)
  const credential = credentialId === undefined ? credentials[0] : credentials.find(({ id }) => id === credentialId)
  if (provider === undefined || (credentialId !== undefined && credential === undefined)) return 'unknown'
  const startedMs = targets.clock.monotonic()
  const { promise, resolve } = Promise.withResolvers<Failure | undefined>()
  const target = { provider, model, credential, outputTokens: OUTPUT_TOKENS }
  if (!targets.probes.start(`test\n${providerId}\n${model}`, target, resolve)) return 'busy'
  const failure = await promise
  return { credentialId: credential?.id ?? null, ms: Math.round(targets.clock.monotonic() - startedMs), failure }
}
