// The life of a request, on one screen: admit → route → relay → settle. Streams and JSON differ only in the sink.

import type { EndpointRule } from '../admit/authorize.ts'
import type { PromptCounts } from '../admit/count-tokens.ts'
import { holdEntry, isCovered, type PromptSize, sizeByBytes, sizeByCount } from '../admit/hold-estimate.ts'
import { type EnterNeeds, enter } from '../admit/reserve.ts'
import type { Model } from '../domain/catalog.ts'
import type { Chat } from '../domain/chat.ts'
import type { Models } from '../domain/chat-models.ts'
import type { Nano } from '../domain/credits.ts'
import type { Failure } from '../domain/failure.ts'
import type { Delivery, Pass } from '../domain/handoff.ts'
import { accountMark, type Identifiers, identifiersOf, stickyWord } from '../domain/identifiers.ts'
import type { Failpoint } from '../lib/failpoint.ts'
import { relay } from '../relay/relay.ts'
import type { Sink } from '../relay/sink.ts'
import { meter } from '../relay/usage-meter.ts'
import { type PlanNeeds, plan, within } from '../route/plan.ts'
import { type RouteNeeds, route } from '../route/route.ts'
import type { Choice } from '../route/targets.ts'
import { type CheckpointNeeds, keepCheckpoints, type Progress } from '../settle/checkpoint.ts'
import { type Ending, endsUnseen, type Held, release, type SettleNeeds, settle } from '../settle/settle.ts'

export type GatewayNeeds = EnterNeeds &
  PlanNeeds &
  RouteNeeds &
  SettleNeeds &
  CheckpointNeeds & {
    readonly readOnAfterFinishMs: number
    readonly outputCapMinTokens: number
    readonly promptCounts: PromptCounts
    readonly hmacKey: Buffer
    // Undefined outside of tests.
    readonly failpoint: Failpoint | undefined
  }

export type Connection = {
  sink(model: Model, outputCap: number | null): Sink
  // From here on every response, also for an unexpected error, has this cost.
  booked(cost: Nano): void
  // Calls back when the caller has received the whole answer, or has left.
  afterSent(listener: () => void): void
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
  const identifiers = identifiersOf(chat, pass.bearer.account.id, needs.hmacKey)
  const planned = plan(chat, stickyWord(identifiers), needs)
  if (failpoint) await failpoint('before_hold')
  const held = await hold(pass, rule, chat, planned.models, needs)
  let sink: Sink | undefined
  let delivery: Delivery | undefined
  try {
    if (failpoint) await failpoint('after_hold')
    sink = connection.sink(planned.models[0], held.wasCapped ? held.capTokens : null)
    const choice = held.wasCapped
      ? within(planned.choice, model => isCovered(chat, model, held.size, held.capTokens, held.hold))
      : planned.choice
    delivery = await deliver(pass, held, { choice, identifiers }, sink, needs)
    // The response is decided: no headers are sent by a timer while the booking waits for the store.
    sink.abandon()
    if (failpoint) await failpoint('before_settle')
    const ending = await settle(held, delivery, needs)
    connection.booked(ending.receipt.cost)
    if (failpoint) await failpoint('after_settle_before_reply')

    sink.close(ending.receipt, ending.refusal)
    const provider = delivery.answer.served?.provider ?? null
    return { ending, model: delivery.answer.model, provider, firstByteAt: delivery.firstByteAt }
  } finally {
    sink?.abandon()
    const room = delivery?.answer.served?.flow.room?.()
    if (room !== undefined) connection.afterSent(room.release)
    // Every exit path releases the hold, unless it was settled.
    if (!held.settled) await release(held, sink?.headersLeft() ? 200 : 500, needs)
  }
}

// Where the answer goes, and what is sent with it.
type Bound = { readonly choice: Choice; readonly identifiers: Identifiers }

// From the first upstream call to the last byte, with checkpoints throughout.
async function deliver(
  pass: Pass,
  held: Held,
  { choice, identifiers }: Bound,
  sink: Sink,
  needs: GatewayNeeds,
): Promise<Delivery> {
  const { chat, models, requestId } = held
  const { client } = pass.call
  const { failpoint } = needs
  const gauge = meter()
  let dispatched: Progress | undefined
  const checkpoints = keepCheckpoints(held, gauge, () => dispatched, needs)
  const readsOn = (model: Model) => endsUnseen(chat, model)

  const request = {
    requestId,
    accountId: held.accountId,
    chat,
    models,
    stickTo: stickyWord(identifiers),
    client,
    identifiers,
    accountMark: accountMark(held.accountId, needs.hmacKey),
    capTokens: held.capTokens,
    readsOn,
    onDispatch: (provider: string, model: Model, at: number) => {
      dispatched = { provider, model, at }
    },
    onFailed({ status }: Failure) {
      // A caller that left while the answer was read on may still have to pay for it.
      if (client.gone && status === undefined) return
      dispatched = undefined
      checkpoints.failed()
    },
  }
  const answering = route(request, choice, needs)
  try {
    if (failpoint) await failpoint('after_dispatch')
    const answer = await answering
    if (failpoint) await failpoint('after_first_byte')
    return await relay(answer, sink, client, gauge, {
      clock: needs.clock,
      readOnAfterFinishMs: needs.readOnAfterFinishMs,
      readsOn,
    })
  } catch (error) {
    // An unexpected error: nobody listens to the upstream any more.
    answering.then(
      ({ served }) => served?.flow.abort(),
      () => undefined,
    )
    throw error
  } finally {
    checkpoints.stop()
  }
}

// Whether a low balance set the cap, and how the prompt was measured.
type HeldHere = Held & { readonly wasCapped: boolean; readonly size: PromptSize }

// The reservation is the request's usage row: once this resolves, it is on disk.
async function hold(
  pass: Pass,
  rule: EndpointRule,
  chat: Chat,
  models: Models,
  needs: GatewayNeeds,
): Promise<HeldHere> {
  let size = sizeByBytes(chat)
  // The entry that was granted: which model costs most may change with the count.
  let entry = holdEntry(chat, models, size, needs.outputCapMinTokens)
  const counted = async () => {
    size = await sizeByCount(chat, models, pass.bearer.account.id, {
      promptCounts: needs.promptCounts,
      provider: needs.catalog().provider,
    })
    entry = holdEntry(chat, models, size, needs.outputCapMinTokens)
    return entry
  }
  const { requestId } = pass.call
  const forget = needs.live.join(requestId)
  try {
    const granted = await enter(pass, { rule, entry, counted }, needs)
    const wasCapped = granted.outputTokens < entry.outputTokens
    return {
      requestId,
      accountId: pass.bearer.account.id,
      chat,
      models,
      hold: granted.hold,
      capTokens: wasCapped ? granted.outputTokens : chat.maxTokens,
      wasCapped,
      size,
      settled: false,
      pricedOtherwise: false,
      forget,
    }
  } catch (error) {
    forget()
    throw error
  }
}
