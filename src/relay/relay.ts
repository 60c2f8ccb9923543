// Carries an answer from the upstream to the caller, no faster than the caller reads, and reports how it ended. It never throws:
// a failed upstream, a disconnected caller and a timeout are Deliveries.
import type { Model } from '../domain/catalog.ts'
import { Failure } from '../domain/failure.ts'
import type { Answer, AnswerListener, Client, Delivery, OutputSeen, UpstreamStream } from '../domain/handoff.ts'
import type { Clock } from '../lib/clock.ts'
import type { Sink } from './sink.ts'
import type { Meter } from './usage-meter.ts'

export type RelayNeeds = {
  readonly clock: Clock
  readonly readOnAfterFinishMs: number
  // Whether an answer of this model is read to its end without the caller, since only its end tells what was produced.
  readonly readsOn: (model: Model) => boolean
}

export function relay(answer: Answer, sink: Sink, client: Client, meter: Meter, needs: RelayNeeds): Promise<Delivery> {
  const { served } = answer
  if (served === undefined) return Promise.resolve(notServed(answer, sink, client, meter, needs))
  const { stream } = served

  return new Promise(resolve => {
    const relaying: Relaying = {
      answer,
      stream,
      sink,
      meter,
      needs,
      resolve,
      left: client.gone,
      over: false,
      firstByteAt: null,
      producedBytes: 0,
      readingOn: undefined,
      stays: [],
    }
    sink.served({
      model: answer.model.id,
      provider: served.provider,
      ignored: served.ignored,
      considered: answer.considered,
    })
    // A connection may drain after the answer was cancelled: an aborted upstream is not resumed.
    sink.onDrain(() => {
      if (!relaying.left && !relaying.over) stream.resume()
    })
    served.listen(listenerOf(relaying))
    if (relaying.over) return
    relaying.stays = [
      client.onGone(() => clientLeft(relaying)),
      client.onCancelled(failure => requestCancelled(relaying, failure)),
    ]
  })
}

type Relaying = Relayed & {
  readonly stream: UpstreamStream
  readonly needs: RelayNeeds
  readonly resolve: (delivery: Delivery) => void
  left: boolean
  over: boolean
  readingOn: NodeJS.Timeout | undefined
  stays: readonly (() => void)[]
}

// What a delivery reports of the answer.
type Relayed = {
  readonly answer: Answer
  readonly sink: Sink
  readonly meter: Meter
  firstByteAt: number | null
  producedBytes: number
}

function notServed(answer: Answer, sink: Sink, client: Client, meter: Meter, needs: RelayNeeds): Delivery {
  const last = answer.attempts.at(-1)
  // Nothing was called: either there was no target, which a failure reports, or the caller left first.
  const left = last === undefined ? answer.failures.length === 0 : last.outcome === 'client_left'
  const outcome = left || isLost(answer, client, needs) ? 'client_left' : 'upstream_failed'
  return deliveryOf({ answer, sink, meter, firstByteAt: null, producedBytes: 0 }, outcome)
}

// The caller had left, the answer was read on, and it ended without usage: nobody knows what was produced. An upstream that
// answered with an error has produced nothing, nor has one whose connection had closed before.
function isLost({ model, dispatchedAt, failures }: Answer, client: Client, needs: RelayNeeds): boolean {
  const last = failures.at(-1)
  const isUnknown = last?.status === undefined && last?.stale !== true
  return client.gone && dispatchedAt !== null && isUnknown && needs.readsOn(model)
}

function listenerOf(relaying: Relaying): AnswerListener {
  const { sink, meter, stream, needs } = relaying
  return {
    chunks(chunks) {
      if (relaying.over) return
      try {
        if (!relaying.left && !sink.chunks(chunks)) stream.pause()
      } catch (error) {
        // It was produced nevertheless.
        meter.chunks(chunks)
        return cannotForward(relaying, error)
      }
      meter.chunks(chunks)
      relaying.firstByteAt ??= needs.clock.now()
    },
    whole(whole) {
      if (relaying.over) return
      try {
        sink.whole(whole)
      } catch (error) {
        return cannotForward(relaying, error)
      }
      meter.whole(whole)
      relaying.firstByteAt ??= needs.clock.now()
    },
    end(failure) {
      relaying.producedBytes = failure?.producedBytes ?? 0
      if (relaying.left) finish(relaying, 'client_left')
      else if (failure === undefined) finish(relaying, 'completed')
      else finish(relaying, 'upstream_broke', failure)
    },
  }
}

// An answer nested too deeply to be serialised is invalid.
function cannotForward(relaying: Relaying, error: unknown): void {
  if (!(error instanceof RangeError)) throw error
  relaying.stream.abort()
  const failure = new Failure('invalid_response', `the response cannot be forwarded: ${error.message}`)
  finish(relaying, 'upstream_broke', failure)
}

// The usage of an answer that has finished except for its usage frame, or that may contain hidden tokens, is worth waiting for.
function clientLeft(relaying: Relaying): void {
  const { answer, stream, meter, needs } = relaying
  if (relaying.over) return
  relaying.left = true
  const untilEnd = needs.readsOn(answer.model)
  if (!untilEnd && meter.finishReason === null) {
    stopReading(relaying)
    return
  }
  stream.resume()
  // To its end: within the total timeout of the call.
  if (!untilEnd) relaying.readingOn = setTimeout(stopReading, needs.readOnAfterFinishMs, relaying)
}

function stopReading(relaying: Relaying): void {
  relaying.stream.abort()
  finish(relaying, 'client_left')
}

function requestCancelled(relaying: Relaying, failure: Failure): void {
  relaying.stream.abort()
  if (relaying.left) finish(relaying, 'client_left')
  else finish(relaying, 'upstream_broke', failure)
}

function finish(relaying: Relaying, outcome: Delivery['outcome'], failure?: Failure): void {
  if (relaying.over) return
  relaying.over = true
  for (const undo of relaying.stays) undo()
  clearTimeout(relaying.readingOn)
  relaying.resolve(deliveryOf(relaying, outcome, failure))
}

function deliveryOf(relayed: Relayed, outcome: Delivery['outcome'], failure?: Failure): Delivery {
  const { answer, sink, meter, firstByteAt, producedBytes } = relayed
  return {
    answer,
    outcome,
    failure,
    finishReason: meter.finishReason,
    usage: meter.usage,
    output: withProduced(meter.output(), producedBytes),
    firstByteAt,
    headersLeft: sink.headersLeft(),
  }
}

// What could not be accepted was produced nevertheless.
function withProduced(output: OutputSeen, bytes: number): OutputSeen {
  return bytes === 0 ? output : { ...output, any: true, bytesBeyond: output.bytesBeyond + bytes }
}
