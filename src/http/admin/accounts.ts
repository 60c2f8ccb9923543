// The endpoints of accounts, their credits and their ledger.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AccountMethods } from '../../admin/accounts.ts'
import { ifMatchOf, pageOf, serve } from './endpoint.ts'
import type { Guard } from './guard.ts'
import { ADMIN } from './schemas.ts'

export function accountEndpoints(
  app: FastifyInstance,
  needs: { readonly guard: Guard; readonly accounts: AccountMethods },
): void {
  const { accounts } = needs
  serve(app, ADMIN.createAccount, ({ body, actor }) => accounts.create(body, actor), needs)
  serve(
    app,
    ADMIN.listAccounts,
    ({ query }) =>
      accounts.list({
        ...pageOf(query),
        status: query.status,
        name: query.name?.toWellFormed(),
        q: query.q?.toWellFormed(),
      }),
    needs,
  )
  serve(app, ADMIN.getAccount, ({ params }) => accounts.get(params.id ?? ''), needs)
  serve(
    app,
    ADMIN.updateAccount,
    ({ params, body, actor, request }) => accounts.update(params.id ?? '', body, ifMatchOf(request), actor),
    needs,
  )
  serve(
    app,
    ADMIN.addCredits,
    ({ params, body, actor, request }) => accounts.addCredits(params.id ?? '', body, idempotencyKeyOf(request), actor),
    needs,
  )
  serve(app, ADMIN.listLedger, ({ params, query }) => accounts.ledger(params.id ?? '', pageOf(query)), needs)
}

function idempotencyKeyOf(request: FastifyRequest): string | undefined {
  const given = request.headers['idempotency-key']
  return typeof given === 'string' ? given : undefined
}
