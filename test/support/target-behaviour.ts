// How simulated targets behave, and what a request through them has seen.
import { Failure } from '../../src/domain/failure.ts'
import type { Behaviour, Member, Told, World } from './simulated-targets.ts'

export const REFUSED = failing(new Failure('refused', 'refused'))
export const SERVER_ERROR = failing(new Failure('status', 'status 500', { status: 500 }))
export const FORBIDDEN = failing(new Failure('credential', 'status 403', { status: 403 }))
export const UNKNOWN_KEY = failing(new Failure('credential', 'status 401', { status: 401 }))
export const limited = (retryAfter?: number) =>
  failing(new Failure('limited', 'status 429', { status: 429, ...(retryAfter === undefined ? {} : { retryAfter }) }))
export const isProbe = (requestId: string) => requestId.startsWith('probe-')

export function member(id: string, behave: Behaviour, priority = 0, keys: readonly string[] = []): Member {
  return { id, behave, target: { priority }, credentials: keys.map(key => ({ id: key, secret: `secret-${key}` })) }
}

export function failing(failure: Failure): Behaviour {
  return () => ({ afterMs: 1, failure })
}

export function providerOf({ answer }: Told): string | undefined {
  return answer.served?.provider
}

export function outcomes({ answer }: Told): string[] {
  return answer.attempts.map(({ outcome }) => outcome)
}

export function credentials(world: World): (string | undefined)[] {
  return world.calls.filter(({ requestId }) => !isProbe(requestId)).map(({ credential }) => credential)
}
