// The life of a request, on one screen: admission, reservation, route, relay, settlement. Streams and JSON differ only in the
// sink.
import type { EndpointRule } from '../admit/authorize.ts'
import type { PromptCounts } from '../admit/count-tokens.ts'
import { holdEntry, isCovered, type PromptSize, sizeByBytes, sizeByCount } from '../admit/hold-estimate.ts'
import { byCurrentKey, type ReserveNeeds, reserve } from '../admit/reserve.ts'
import type { Model } from '../domain/catalog.ts'
import type { Chat } from '../domain/chat.ts'
import type { Nano } from '../domain/credits.ts'
import type { Failure } from '../domain/failure.ts'
import type { Answer, Client, Delivery, Pass } from '../domain/handoff.ts'
import { accountMark, type Identifiers, identifiersOf, stickyWord } from '../domain/identifiers.ts'
import type { Attempt } from '../domain/usage.ts'
import type { SlotList } from '../lib/slot-list.ts'
import { relay } from '../relay/relay.ts'
import type { Sink } from '../relay/sink.ts'
import { type Meter, meter } from '../relay/usage-meter.ts'
import { type Plan, type PlanNeeds, plan, planRequest, within } from '../route/plan.ts'
import { type RouteNeeds, type RouteRequest, route } from '../route/route.ts'
import type { Choice } from '../route/targets.ts'
import { type CheckpointNeeds, keepCheckpoints, type Progress } from '../settle/checkpoint.ts'
import { type Ending, endsUnseen, type Held, release, type SettleNeeds, settle } from '../settle/settle.ts'

export type GatewayNeeds = ReserveNeeds &
  PlanNeeds &
  RouteNeeds &
  SettleNeeds &
  CheckpointNeeds & {
    readonly readOnAfterFinishMs: number
    readonly outputCapMinTokens: number
    readonly promptCounts: PromptCounts
    // Requests whose rows a sweep must not touch.
    readonly live: SlotList<string>
    readonly hmacKey: Buffer
    readonly steps: Steps
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
  readonly attempts: readonly Attempt[]
  readonly finishReason: string | null
}

// The steps that tests interrupt.
export type Steps = {
  readonly reserve: typeof holdCredits
  readonly route: typeof route
  readonly settle: typeof settle
}

export async function complete(
  pass: Pass,
  rule: EndpointRule,
  chat: Chat,
  connection: Connection,
  needs: GatewayNeeds,
): Promise<Completed> {
  // Already admitted: the pass covers key, address, scope and limits.
  const { steps } = needs
  const identifiers = identifiersOf(chat, pass.caller.account.id, needs.hmacKey)
  const planNow = () => plan(planRequest(pass, chat, identifiers), needs)
  const first = byCurrentKey(planNow, pass, needs)

  const held = await steps.reserve(
    pass,
    rule,
    chat,
    { planned: first instanceof Promise ? await first : first, planNow },
    needs,
  )
  const { planned } = held
  const usage = meter()
  const progress = followProgress(held, pass.call.client, usage, needs)
  let sink: Sink | undefined
  let answer: Answer | undefined
  let delivery: Delivery | undefined
  try {
    sink = connection.sink(planned.models[0], held.wasCapped ? held.capTokens : null)

    answer = await steps.route(routeRequest(pass, held, identifiers, progress, needs), covered(planned, held), needs)
    delivery = await relay(answer, sink, pass.call.client, usage, relayNeeds(chat, needs))
    pass.call.trace?.relayed()
    progress.stop()
    // The response is decided: no headers are sent by a timer while the booking waits for the store.
    sink.abandon()

    const ending = await steps.settle(held, delivery, connection.booked, needs)
    sink.close(ending.receipt, ending.refusal)
    const { model, attempts } = answer
    const { firstByteAt, finishReason } = delivery
    return { ending, model, provider: answer.served?.provider ?? null, firstByteAt, attempts, finishReason }
  } finally {
    progress.stop()
    sink?.abandon()
    // An unexpected error: nobody listens to the upstream any more.
    if (delivery === undefined) answer?.served?.stream.abort()
    const reservation = answer?.served?.stream.reservation?.()
    if (reservation !== undefined) connection.afterSent(reservation.release)
    // Every exit path releases the hold, unless it was settled.
    if (!held.settled) await release(held, sink?.headersLeft() ? 200 : 500, needs)
  }
}

// A low balance leaves out the models that the hold does not cover.
function covered({ choice }: Plan, held: HeldHere): Choice {
  if (!held.wasCapped) return choice
  return within(choice, model => isCovered(held.chat, model, held.size, held.capTokens, held.hold))
}

function routeRequest(
  pass: Pass,
  held: Held,
  identifiers: Identifiers,
  { onDispatch, onFailed }: Followed,
  { hmacKey }: GatewayNeeds,
): RouteRequest {
  const { requestId, chat, models, capTokens } = held
  const { account } = pass.caller
  return {
    requestId,
    account,
    chat,
    models,
    stickTo: stickyWord(identifiers),
    client: pass.call.client,
    trace: pass.call.trace,
    identifiers,
    accountMark: accountMark(account, hmacKey),
    capTokens,
    readsOn: model => endsUnseen(chat, model),
    onDispatch,
    onFailed,
  }
}

function relayNeeds(chat: Chat, { clock, readOnAfterFinishMs }: GatewayNeeds) {
  return { clock, readOnAfterFinishMs, readsOn: (model: Model) => endsUnseen(chat, model) }
}

type Followed = ReturnType<typeof followProgress>

// Knows which upstream was called last, and keeps checkpoints of it until the answer is there.
function followProgress(held: Held, client: Client, usage: Meter, needs: CheckpointNeeds) {
  let dispatched: Progress | undefined
  const checkpoints = keepCheckpoints(held, usage, () => dispatched, needs)
  return {
    onDispatch(provider: string, model: Model, at: number): void {
      dispatched = { provider, model, at }
    },
    onFailed({ status }: Failure): void {
      // A caller that left while the answer was read on may still have to pay for it.
      if (client.gone && status === undefined) return
      dispatched = undefined
      checkpoints.failed()
    },
    stop: checkpoints.stop,
  }
}

// Whether a low balance set the cap, and how the prompt was measured.
type HeldHere = Held & { readonly wasCapped: boolean; readonly size: PromptSize; readonly planned: Plan }

// The plan, and how it is recomputed where the key turns out to have changed.
type Planning = { readonly planned: Plan; readonly planNow: () => Plan }

// The reservation is the request's usage row: once this resolves, it is on disk.
async function holdCredits(
  pass: Pass,
  rule: EndpointRule,
  chat: Chat,
  { planned: first, planNow }: Planning,
  needs: GatewayNeeds,
): Promise<HeldHere> {
  let planned = first
  let size = sizeByBytes(chat)
  // The entry that was reserved: which model costs most may change with the count.
  let entry = holdEntry(chat, planned.models, size, needs.outputCapMinTokens)
  const counted = async () => {
    size = await sizeByCount(chat, planned.models, pass.caller.account.id, {
      promptCounts: needs.promptCounts,
      provider: needs.catalog().provider,
    })
    entry = holdEntry(chat, planned.models, size, needs.outputCapMinTokens)
    return entry
  }
  const whenChanged = () => {
    planned = planNow()
    entry = holdEntry(chat, planned.models, size, needs.outputCapMinTokens)
    return entry
  }
  const { requestId } = pass.call
  const forget = needs.live.add(requestId)
  try {
    const reserved = await reserve(pass, { rule, entry, counted, whenChanged }, needs)
    const wasCapped = reserved.outputTokens < entry.outputTokens
    return {
      requestId,
      accountId: pass.caller.account.id,
      chat,
      planned,
      models: planned.models,
      hold: reserved.hold,
      capTokens: wasCapped ? reserved.outputTokens : chat.maxTokens,
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

export const STEPS: Steps = { reserve: holdCredits, route, settle }
