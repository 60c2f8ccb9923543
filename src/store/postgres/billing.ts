// Billing on Postgres: a batch of reservations, settlements and checkpoints in one transaction, by the rules of transitions.ts,
// under the row locks of its unit of work.
import type { BatchResult } from '../billing/group-commit.ts'
import { openRows } from '../billing/open-rows.ts'
import { applyOp, type BillingOp, type BillingResult } from '../billing/transitions.ts'
import { type Lease, lastBatch } from './lease.ts'
import { hasLostConnection, isOurOwn, isRefusedValue, isWorthAnotherTry, type PostgresSql, SHARE_HOURS } from './sql.ts'
import { openPostgresUnitOfWork, type RowOwner } from './unit-of-work.ts'
import { renewPlans } from './writes.ts'

type Results = readonly BatchResult<BillingResult>[]
// A commit that was sent and not answered: the results if it was done, and the batch number that tells whether it was.
type Unsure = { readonly results: Results; readonly batch: number }
type Course = { hasBegun: boolean; unsure: Unsure | undefined }

const TRIES_MAX = 4
// The lock in a statement of its own and first: what a later statement reads of the claims is then no older than the lock.
const BEGIN = `BEGIN ISOLATION LEVEL READ COMMITTED; ${SHARE_HOURS}`

export function postgresBilling(sql: PostgresSql, lease: Lease) {
  let batches = 0
  const owners = openRows<RowOwner>()

  // A batch whose connection broke is run again. If that happened after its commit was sent, the next run first checks whether
  // the node's own row has its number, which nobody else can have written. By then it has waited for the locks of the previous
  // run, which has ended one way or the other (docs/decisions/postgres-billing.md).
  async function commit(ops: readonly BillingOp[]): Promise<Results> {
    const course: Course = { hasBegun: false, unsure: undefined }
    for (let tries = 1; ; tries++) {
      try {
        return await inTransaction(ops, course)
      } catch (error) {
        const isUnsure = course.unsure !== undefined
        const isOfOne = isRefusedValue(error) || (course.hasBegun && isOurOwn(error))
        if (isOfOne && !isUnsure && ops.length > 1) return inHalves(ops)
        // A server that cannot be reached is unavailable; trying again would only keep everybody waiting.
        const hasBroken = course.hasBegun && hasLostConnection(error)
        const again = isUnsure || isWorthAnotherTry(error) || hasBroken
        if (tries === TRIES_MAX || !again) return ops.map(() => ({ ok: false, error: error as Error }))
      }
    }
  }

  // Until the faulty operation is alone.
  async function inHalves(ops: readonly BillingOp[]): Promise<Results> {
    const half = ops.length >> 1
    return [...(await commit(ops.slice(0, half))), ...(await commit(ops.slice(half)))]
  }

  function inTransaction(ops: readonly BillingOp[], course: Course): Promise<Results> {
    course.hasBegun = false
    return sql.withClient(async client => {
      course.hasBegun = true
      let isSent = false
      try {
        // Pipelined: sent without waiting, answered in order.
        const renewed = renewPlans(client)
        const begun = client.query(BEGIN)
        const batch = ++batches
        const [unit] = await Promise.all([
          openPostgresUnitOfWork(client, ops, { lease, batch, owners }),
          begun,
          renewed,
        ])
        if (course.unsure !== undefined && (await lastBatch(client, lease)) === course.unsure.batch) {
          await client.query('ROLLBACK')
          return course.unsure.results
        }
        course.unsure = undefined
        const results = ops.map(op => ({ ok: true as const, value: applyOp(op, unit) }))
        course.unsure = { results, batch }
        isSent = true
        // Both are sent before either is answered: a commit after a failed write rolls back.
        await Promise.all([unit.writeBack(), client.query('COMMIT')])
        return results
      } catch (error) {
        if (!hasLostConnection(error)) {
          // This only means that this run's own commit was not done; about the previous one nothing is known yet.
          if (isSent) course.unsure = undefined
          await client.query('ROLLBACK')
        }
        throw error
      }
    })
  }

  return { commit }
}
