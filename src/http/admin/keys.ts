// The endpoints of keys.
import type { FastifyInstance } from 'fastify'
import type { KeyMethods } from '../../admin/keys.ts'
import type { PlaygroundMethod } from '../../admin/playground.ts'
import { ifMatchOf, pageOf, serve, sortingOf } from './endpoint.ts'
import type { Guard } from './guard.ts'
import { ADMIN } from './schemas.ts'

type Needs = { readonly guard: Guard; readonly keys: KeyMethods; readonly playgroundKey: PlaygroundMethod }

export function keyEndpoints(app: FastifyInstance, needs: Needs): void {
  const { keys } = needs
  serve(app, ADMIN.createPlaygroundKey, ({ body, actor }) => needs.playgroundKey(body, actor), needs)
  serve(app, ADMIN.createKey, ({ body, actor }) => keys.create(body, actor), needs)
  serve(
    app,
    ADMIN.listKeys,
    ({ query }) =>
      keys.list({
        ...pageOf(query),
        status: query.status,
        accountId: query.account_id,
        name: query.name?.toWellFormed(),
        last4: query.last4?.toWellFormed(),
        q: query.q?.toWellFormed(),
        sorting: sortingOf(query),
      }),
    needs,
  )
  serve(app, ADMIN.getKey, ({ params }) => keys.get(params.id ?? ''), needs)
  serve(
    app,
    ADMIN.updateKey,
    ({ params, body, actor, request }) => keys.update(params.id ?? '', body, ifMatchOf(request), actor),
    needs,
  )
  serve(app, ADMIN.rotateKey, ({ params, actor }) => keys.rotate(params.id ?? '', actor), needs)
  serve(app, ADMIN.endGrace, ({ params, body, actor }) => keys.endGrace(params.id ?? '', body.last4, actor), needs)
  serve(app, ADMIN.resetDay, ({ params, actor }) => keys.resetDay(params.id ?? '', actor), needs)
  serve(
    app,
    ADMIN.revokeKey,
    ({ params, body, actor }) => keys.revoke(params.id ?? '', body.abort_streams === true, actor),
    needs,
  )
}
