// Guards of sessions: a person's use is recorded and shown, background requests are no use, and an export checks its session again.
import assert from 'node:assert/strict'
import { text as textOf } from 'node:stream/consumers'
import { test } from 'node:test'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { idleExpiresAt } from '../../src/domain/operator.ts'
import { Refusal } from '../../src/domain/refusal.ts'
import { adminGuard } from '../../src/http/admin/guard.ts'
import { sendCsv } from '../../src/http/csv.ts'
import { portalGuard } from '../../src/http/portal/guard.ts'
import { noteUse } from '../../src/http/session-use.ts'
import { manualClock } from '../support/manual-clock.ts'

const SECRET = 's'.repeat(43)
const HOUR_MS = 3_600_000

const requestOf = (method: string, headers: object = {}) =>
  ({
    method,
    headers,
    cookies: { turnpike_portal: SECRET, turnpike_session: SECRET },
    raw: { headersDistinct: {} },
    routeOptions: { config: {} },
  }) as unknown as FastifyRequest

function openPortal() {
  const clock = manualClock()
  const session = {
    id: 'pses_1',
    account: { id: 'acct_1', name: 'one' },
    permissions: [],
    returnUrl: null,
    address: '',
    createdAt: clock.now(),
    usedAt: clock.now(),
    expiresAt: clock.now() + 12 * HOUR_MS,
  }
  let isEnded = false
  const guard = portalGuard({
    clock,
    portalChangesPerMinute: 60,
    addressOf: () => '192.0.2.1',
    sessions: {
      bearers: async secrets => secrets.map(() => ({ session, state: isEnded ? 'ended' : 'open' })),
      touch: async () => clock.now(),
    },
  })
  const end = () => {
    isEnded = true
  }
  return { clock, guard, end }
}

test('a portal session that is used shows its new idle time', async () => {
  const { clock, guard } = openPortal()
  clock.advance(HOUR_MS / 2)
  const request = requestOf('GET')

  await guard.check(request)

  assert.equal(idleExpiresAt(guard.whoOf(request).session), clock.now() + HOUR_MS)
})

test('a use is stored every half minute, not for background requests; only a read passes when it cannot be', async () => {
  const clock = manualClock()
  const session = { id: 'x', usedAt: clock.now() }
  const touch = async () => clock.now()
  const fails = () => Promise.reject(new Error('unavailable'))
  clock.advance(29_999)
  assert.equal((await noteUse(session, requestOf('GET'), { clock, touch })).usedAt, session.usedAt)
  clock.advance(1)

  const background = await noteUse(session, requestOf('GET', { 'x-background': '1' }), { clock, touch })
  const used = await noteUse(session, requestOf('GET'), { clock, touch })
  const unrecorded = await noteUse(session, requestOf('GET'), { clock, touch: fails })

  assert.deepEqual([background.usedAt, used.usedAt, unrecorded.usedAt], [session.usedAt, clock.now(), session.usedAt])
  await assert.rejects(noteUse(session, requestOf('POST'), { clock, touch: fails }), /unavailable/)
})

test('an export ends at the next page after its session has ended', async () => {
  const { guard, end: endPortal } = openPortal()
  let isKnown = true
  const admin = adminGuard({
    clock: manualClock(),
    operatorsOf: async hashes => hashes.map(() => undefined),
    sessionsOf: async secrets =>
      secrets.map(() => {
        const operator = { id: 'op_1', name: 'one', role: 'admin' as const }
        const session = { id: 'ses_1', operator, address: '', createdAt: 0, usedAt: Date.now() * 2, expiresAt: 0 }
        return isKnown ? session : undefined
      }),
    touchSession: async () => 0,
    addressOf: () => '192.0.2.1',
  })
  const endOperator = () => {
    isKnown = false
  }
  const cases = [
    { of: guard, end: endPortal },
    { of: admin, end: endOperator },
  ]

  for (const { of, end } of cases) {
    let pages = 0
    const exported = async (isEnding: boolean) =>
      textOf(
        await sendCsv(
          { header: () => {}, request: requestOf('GET') } as unknown as FastifyReply,
          { name: 'numbers', columns: ['number'], idOf: ({ number }: { number: number }) => String(number) },
          { limit: undefined, after: undefined, guard: of },
          async ({ after }) => {
            pages++
            if (isEnding && pages === 2) end()
            const number = Number(after ?? 0) + 1
            return { object: 'list', data: [{ number }], has_more: number < 4 }
          },
        ),
      )

    assert.equal(await exported(false), 'number\r\n1\r\n2\r\n3\r\n4\r\n')
    pages = 0
    await assert.rejects(exported(true), Refusal)
    assert.equal(pages, 2)
  }
})
