// Carries an answer from the upstream to the caller, no faster than the caller reads, and reports how it ended. It never throws:
// a failed upstream, a disconnected caller and a timeout are Deliveries.
import type { Model } from '../domain/catalog.ts'
import { Failure } from '../domain/failure.ts'
import type { Answer, Client, Delivery, OutputSeen } from '../domain/handoff.ts'
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
  let firstByteAt: number | null = null
  let producedBytes = 0

  const delivery = (outcome: Delivery['outcome'], failure?: Failure): Delivery => ({
    answer,
    outcome,
    failure,
    finishReason: meter.finishReason,
    usage: meter.usage,
    output: withProduced(meter.output(), producedBytes),
    firstByteAt,
    headersLeft: sink.headersLeft(),
  })
  if (served === undefined) {
    const last = answer.attempts.at(-1)
    // Nothing was called: either there was no target, which a failure reports, or the caller left first.
    const left = last === undefined ? answer.failures.length === 0 : last.outcome === 'client_left'
    return Promise.resolve(delivery(left || isLost(answer, client, needs) ? 'client_left' : 'upstream_failed'))
  }

  return new Promise(resolve => {
    let left = client.gone
    let over = false
    let readingOn: NodeJS.Timeout | undefined
    let stays: readonly (() => void)[] = []

    const finish = (outcome: Delivery['outcome'], failure?: Failure) => {
      if (over) return
      over = true
      for (const undo of stays) undo()
      clearTimeout(readingOn)
      resolve(delivery(outcome, failure))
    }
    // The usage of an answer that has finished except for its usage frame, or that may contain hidden tokens, is worth waiting
    // for.
    const clientLeft = () => {
      if (over) return
      left = true
      const untilEnd = needs.readsOn(answer.model)
      if (!untilEnd && meter.finishReason === null) return stopReading()
      served.stream.resume()
      // To its end: within the total timeout of the call.
      if (!untilEnd) readingOn = setTimeout(stopReading, needs.readOnAfterFinishMs)
    }
    const stopReading = () => {
      served.stream.abort()
      finish('client_left')
    }

    // An answer nested too deeply to be serialised is invalid.
    const unfit = (error: unknown) => {
      if (!(error instanceof RangeError)) throw error
      served.stream.abort()
      finish('upstream_broke', new Failure('invalid_response', `the response cannot be forwarded: ${error.message}`))
    }

    sink.served({
      model: answer.model.id,
      provider: served.provider,
      ignored: served.ignored,
      considered: answer.considered,
    })
    sink.onDrain(() => {
      if (!left) served.stream.resume()
    })
    served.listen({
      chunks(chunks) {
        if (over) return
        try {
          if (!left && !sink.chunks(chunks)) served.stream.pause()
        } catch (error) {
          return unfit(error)
        }
        meter.chunks(chunks)
        firstByteAt ??= needs.clock.now()
      },
      whole(whole) {
        if (over) return
        try {
          sink.whole(whole)
        } catch (error) {
          return unfit(error)
        }
        meter.whole(whole)
        firstByteAt ??= needs.clock.now()
      },
      end(failure) {
        producedBytes = failure?.producedBytes ?? 0
        if (left) finish('client_left')
        else if (failure === undefined) finish('completed')
        else finish('upstream_broke', failure)
      },
    })
    if (over) return
    const cut = (failure: Failure) => {
      served.stream.abort()
      if (left) finish('client_left')
      else finish('upstream_broke', failure)
    }
    stays = [client.onGone(clientLeft), client.onCancelled(cut)]
  })
}

// What could not be accepted was produced nevertheless.
function withProduced(output: OutputSeen, bytes: number): OutputSeen {
  return bytes === 0 ? output : { ...output, any: true, bytesBeyond: output.bytesBeyond + bytes }
}

// The caller had left, the answer was read on, and it ended without usage: nobody knows what was produced. An upstream that
// answered with an error has produced nothing, nor has one whose connection had closed before.
function isLost({ model, dispatchedAt, failures }: Answer, client: Client, needs: RelayNeeds): boolean {
  const last = failures.at(-1)
  const isUnknown = last?.status === undefined && last?.stale !== true
  return client.gone && dispatchedAt !== null && isUnknown && needs.readsOn(model)
}
