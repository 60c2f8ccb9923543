// The hot path on Postgres: a batch of gates, settlements and checkpoints in one transaction, by the rules of
// `hot-rules`, under the row locks of its desk.
import type { BatchResult } from '../billing/group-commit.ts'
import { applyOp, type HotOp, type HotResult } from '../billing/transitions.ts'
import { hasLostConnection, isOurOwn, isRefusedValue, isWorthAnotherTry } from './errors.ts'
import { type Lease, lastBatch } from './lease.ts'
import { renewPlans } from './plans.ts'
import { type PostgresSql, SHARE_HOURS } from './sql.ts'
import { openPostgresDesk } from './unit-of-work.ts'

type Results = readonly BatchResult<HotResult>[]
// A commit that was sent and not answered: what to answer if it was done, and its number, by which that is told.
type Unsure = { readonly results: Results; readonly batch: number }
type Course = { hasBegun: boolean; unsure: Unsure | undefined }

const TRIES_MAX = 4
// The lock by itself and first: what a later statement reads of the claims is then no older than the lock.
const BEGIN = `BEGIN ISOLATION LEVEL READ COMMITTED; ${SHARE_HOURS}`

export function postgresGates(sql: PostgresSql, lease: Lease) {
  let batches = 0

  // A batch whose connection broke is run again. If that happened after its commit was sent, the next run looks first
  // whether the node's own row bears its number, which nobody else can have written. By then it has waited for the locks of
  // the one before, which has ended one way or the other (docs/decisions/postgres-billing.md).
  async function commit(ops: readonly HotOp[]): Promise<Results> {
    const course: Course = { hasBegun: false, unsure: undefined }
    for (let tries = 1; ; tries++) {
      try {
        return await inTransaction(ops, course)
      } catch (error) {
        const isUnsure = course.unsure !== undefined
        const isOfOne = isRefusedValue(error) || (course.hasBegun && isOurOwn(error))
        if (isOfOne && !isUnsure && ops.length > 1) return inHalves(ops)
        // A server that cannot even be reached is away; waiting for it again would only keep everybody waiting.
        const hasBroken = course.hasBegun && hasLostConnection(error)
        const again = isUnsure || isWorthAnotherTry(error) || hasBroken
        if (tries === TRIES_MAX || !again) return ops.map(() => ({ ok: false, error: error as Error }))
      }
    }
  }

  // Until the culprit stands alone.
  async function inHalves(ops: readonly HotOp[]): Promise<Results> {
    const half = ops.length >> 1
    return [...(await commit(ops.slice(0, half))), ...(await commit(ops.slice(half)))]
  }

  function inTransaction(ops: readonly HotOp[], course: Course): Promise<Results> {
    course.hasBegun = false
    return sql.withClient(async client => {
      course.hasBegun = true
      let isSent = false
      try {
        // Sent one behind the other, and answered so.
        const renewed = renewPlans(client)
        const begun = client.query(BEGIN)
        const batch = ++batches
        const [desk] = await Promise.all([openPostgresDesk(client, ops, { lease, batch }), begun, renewed])
        if (course.unsure !== undefined && (await lastBatch(client, lease)) === course.unsure.batch) {
          await client.query('ROLLBACK')
          return course.unsure.results
        }
        course.unsure = undefined
        const results = ops.map(op => ({ ok: true as const, value: applyOp(op, desk) }))
        course.unsure = { results, batch }
        isSent = true
        // Both are sent before either is answered: a commit behind a failed write rolls back.
        await Promise.all([desk.writeBack(), client.query('COMMIT')])
        return results
      } catch (error) {
        if (!hasLostConnection(error)) {
          // Only of this try's own commit does it say that it was not done; of the one before nothing is known yet.
          if (isSent) course.unsure = undefined
          await client.query('ROLLBACK')
        }
        throw error
      }
    })
  }

  return { commit }
}
