// The life of a request, on one screen: admit → route → relay → settle. Streams and JSON live the same life; they differ
// only in the sink.
import { createHmac } from 'node:crypto'
import { type EnterNeeds, enter } from './admit/enter.ts'
import { holdEntry } from './admit/hold.ts'
import type { EndpointRule } from './admit/permit.ts'
import type { Model } from './domain/catalog.ts'
import type { Chat } from './domain/chat.ts'
import { type Lineup, lineUp, type Models } from './domain/chat-models.ts'
import type { Nano } from './domain/credits.ts'
import type { Delivery, Pass } from './domain/handoff.ts'
import { MODEL_NAME_MAX, storable } from './domain/usage.ts'
import type { Failpoint } from './lib/failpoint.ts'
import type { Seat } from './lib/places.ts'
import { meter } from './relay/meter.ts'
import { relay } from './relay/relay.ts'
import type { Sink } from './relay/sink.ts'
import { type RouteNeeds, route } from './route/route.ts'
import { type CheckpointNeeds, keepCheckpoints, type Progress } from './settle/checkpoint.ts'
import { type Ending, type Held, release, type SettleNeeds, settle } from './settle/settle.ts'

export type GatewayNeeds = EnterNeeds &
  RouteNeeds &
  SettleNeeds &
  CheckpointNeeds & {
    readonly readOnAfterFinishMs: number
    readonly readOnFor: (accountId: string) => Seat
    readonly outputCapMinTokens: number
    readonly hmacKey: Buffer
    // Undefined outside of tests.
    readonly failpoint: Failpoint | undefined
  }

export type Connection = {
  sink(model: Model, outputCap: number | null): Sink
  // From here on every answer, also one that tells of a bug, says this cost.
  booked(cost: Nano): void
}

export type Completed = {
  readonly ending: Ending
  readonly model: Model
  readonly provider: string | null
  readonly firstByteAt: number | null
}

export async function complete(
  pass: Pass,
  rule: EndpointRule,
  chat: Chat,
  connection: Connection,
  needs: GatewayNeeds,
): Promise<Completed> {
  const { failpoint } = needs
  const { models, unfit } = lineUp(chat, needs.catalog().model)
  if (failpoint) await failpoint('before_hold')
  const held = await hold(pass, rule, chat, models, needs)
  let sink: Sink | undefined
  try {
    if (failpoint) await failpoint('after_hold')
    sink = connection.sink(models[0], held.wasCapped ? held.capTokens : null)
    const delivery = await deliver(pass, held, unfit, sink, needs)
    if (failpoint) await failpoint('before_settle')
    const ending = await settle(held, delivery, needs)
    connection.booked(ending.receipt.cost)
    if (failpoint) await failpoint('after_settle_before_reply')

    sink.close(ending.receipt, ending.refusal)
    const provider = delivery.answer.served?.provider ?? null
    return { ending, model: delivery.answer.model, provider, firstByteAt: delivery.firstByteAt }
  } finally {
    sink?.abandon()
    // Every way out releases what was held, unless it was settled.
    if (!held.settled) await release(held, needs)
  }
}

// From the first upstream that is called to the last byte that is carried, watched by checkpoints all along.
async function deliver(
  pass: Pass,
  held: HeldHere,
  unfit: Lineup['unfit'],
  sink: Sink,
  needs: GatewayNeeds,
): Promise<Delivery> {
  const { chat, models, requestId } = held
  const { client } = pass.call
  const { failpoint } = needs
  const gauge = meter()
  let dispatched: Progress | undefined
  const checkpoints = keepCheckpoints(held, gauge, () => dispatched, needs)
  const place = needs.readOnFor(pass.bearer.account.id)
  const identifiers = identifiersFor(pass, chat, needs)

  const request = {
    requestId,
    accountId: held.accountId,
    chat,
    models,
    unfit,
    stickTo: identifiers.session_id ?? identifiers.prompt_cache_key ?? null,
    client,
    identifiers,
    capTokens: held.capTokens,
    readOn: place.take,
    onDispatch: (provider: string, model: Model, at: number) => {
      dispatched = { provider, model, at }
    },
  }
  const answering = route(request, needs)
  try {
    if (failpoint) await failpoint('after_dispatch')
    const answer = await answering
    if (failpoint) await failpoint('after_first_byte')
    return await relay(answer, sink, client, gauge, {
      clock: needs.clock,
      readOnAfterFinishMs: needs.readOnAfterFinishMs,
      readOn: place.take,
    })
  } catch (error) {
    // A bug of ours: nobody listens to the upstream any more.
    answering.then(
      ({ served }) => served?.flow.abort(),
      () => undefined,
    )
    throw error
  } finally {
    checkpoints.stop()
    place.giveBack()
  }
}

// Whether it was a low balance that set the cap.
type HeldHere = Held & { readonly wasCapped: boolean }

// The reservation is the request's usage row: once this resolves, it is on disk.
async function hold(
  pass: Pass,
  rule: EndpointRule,
  chat: Chat,
  models: Models,
  needs: GatewayNeeds,
): Promise<HeldHere> {
  const entry = holdEntry(chat, models, needs.outputCapMinTokens)
  const { requestId } = pass.call
  const forget = needs.live.join(requestId)
  try {
    const granted = await enter(
      pass,
      { rule, modelRequested: storable(chat.model, MODEL_NAME_MAX), stream: chat.stream, entry },
      needs,
    )
    const wasCapped = granted.outputTokens < entry.outputTokens
    return {
      requestId,
      accountId: pass.bearer.account.id,
      chat,
      models,
      hold: granted.hold,
      capTokens: wasCapped ? granted.outputTokens : chat.maxTokens,
      wasCapped,
      settled: false,
      forget,
    }
  } catch (error) {
    forget()
    throw error
  }
}

// Users, sessions and cache keys of a tenant: upstream they neither collide with another tenant's nor tell who it is.
function identifiersFor(pass: Pass, chat: Chat, needs: GatewayNeeds): Record<string, string> {
  const hashed: Record<string, string> = {}
  for (const [name, value] of Object.entries(chat.identifiers)) {
    hashed[name] = createHmac('sha256', needs.hmacKey).update(`${pass.bearer.account.id}\n${value}`).digest('base64url')
  }
  return hashed
}
