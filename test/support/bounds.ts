// Gateway options that replace bounds.
import type { Bounds } from '../../src/config/limits.ts'
import type { GatewayOptions } from './gateway.ts'

export function withBounds(bounds: Partial<Bounds>): Required<Pick<GatewayOptions, 'nodeArgs' | 'env'>> {
  return {
    nodeArgs: ['--import', new URL('bounds-preload.ts', import.meta.url).href],
    env: { TEST_BOUNDS: JSON.stringify(bounds) },
  }
}

// A gateway that counts every prompt that has to be counted, however busy the machine is.
export const PATIENT_COUNTS: Partial<Bounds> = { holdCountMsMax: 20_000, estimateTimeoutMs: 20_000 }

// A gateway whose breakers never open: each test of a file finds its upstreams in their initial state.
export const FORGETFUL: Partial<Bounds> = {
  breakerFailuresInARowMax: 1_000_000,
  breakerRequestsMin: 1_000_000,
  retryAfterMsMax: 0,
  limitedMsDefault: 0,
  probesAtOnceMax: 0,
  retryReserveMax: 1_000_000,
}
