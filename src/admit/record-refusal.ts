// Records a refusal by the table of refusals: whether it counts against the key's limits, and where its usage row is written.
import type { Pass } from '../domain/handoff.ts'
import { REFUSALS, Refusal } from '../domain/refusal.ts'
import { refusedFields } from '../domain/refused-row.ts'
import { rowTags } from '../domain/tags.ts'
import type { Known } from './admit.ts'
import type { EndpointRule } from './authorize.ts'
import type { RefusalLog } from './refusal-log.ts'
import { type ReserveNeeds, reserve } from './reserve.ts'

export type RecordNeeds = ReserveNeeds & { readonly refusalLog: Pick<RefusalLog, 'logRefusal'> }

export type RefusedRequest = {
  // Undefined while no valid key is known.
  readonly known: Known | undefined
  // Undefined before admission.
  readonly pass: Pass | undefined
  readonly rule: EndpointRule | undefined
}

// Returns the refusal for the caller. It differs where a counted refusal finds, at the reservation, that the key has changed or
// that its daily limit is used up.
export async function recordRefusal(refusal: Refusal, request: RefusedRequest, needs: RecordNeeds): Promise<Refusal> {
  const { known, pass, rule } = request
  const { counts, row } = REFUSALS[refusal.code]
  if (!counts) pass?.giveBack()
  if (known === undefined || known.hasRow || row === 'none') return refusal
  // An audit could not tell it from one that was counted.
  if (pass === undefined && row === 'reservation' && refusal.status >= 500) return refusal
  if (!counts || row === 'background' || pass === undefined || rule === undefined) {
    const { tags } = known.caller.key
    needs.refusalLog.logRefusal({ facts: known.facts(), ...refusedFields(refusal) }, rowTags(tags, undefined))
    return refusal
  }
  const entry = { kind: 'unbilled', outcome: 'refused', ...refusedFields(refusal) } as const
  const other = await reserve(pass, { rule, entry }, needs).then(() => undefined, refusalOnly)
  if (other === undefined || REFUSALS[other.code].counts) return other ?? refusal
  return recordRefusal(other, request, needs)
}

function refusalOnly(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  throw error
}
