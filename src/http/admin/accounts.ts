// The endpoints of accounts, their credits and their ledger.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AccountMethods, LedgerObject } from '../../admin/accounts.ts'
import type { Page } from '../../store/contract/operator.ts'
import { type CsvReport, isCsv, sendCsv } from '../csv.ts'
import { ifMatchOf, pageOf, serve, sortingOf } from './endpoint.ts'
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
        externalId: query.external_id,
        q: query.q?.toWellFormed(),
        sorting: sortingOf(query),
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
  serve(
    app,
    ADMIN.listLedger,
    ({ params, query, request, reply }) => {
      reply.header('vary', 'Accept')
      const { limit, after, format, ...filter } = query
      const id = params.id ?? ''
      if (!isCsv(format, request.headers.accept)) return accounts.ledger(id, filter, pageOf(query))
      let last: LedgerObject | undefined
      const read = async (page: Page) => {
        const list = await accounts.ledger(id, filter, page, last)
        last = list.data.at(-1)
        return list
      }
      return sendCsv(reply, LEDGER_CSV, { limit, after, guard: needs.guard }, read)
    },
    needs,
  )
}

const LEDGER_CSV: CsvReport<LedgerObject> = {
  name: 'ledger',
  columns: [
    'id',
    'account_id',
    'created_at',
    'kind',
    'amount',
    'balance',
    'note',
    'request_id',
    'from',
    'to',
    'requests',
    'errors',
  ],
  idOf: ({ id }) => id,
}

function idempotencyKeyOf(request: FastifyRequest): string | undefined {
  const given = request.headers['idempotency-key']
  return typeof given === 'string' ? given : undefined
}
