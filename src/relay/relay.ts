// Carries an answer from the upstream to the caller, no faster than the caller reads, and says how it ended. It never
// throws: a broken upstream, a caller that left, a timeout are Deliveries that say so.
import { Failure } from '../domain/failure.ts'
import type { Answer, Client, Delivery, OutputSeen } from '../domain/handoff.ts'
import type { Clock } from '../lib/clock.ts'
import type { Meter } from './meter.ts'
import type { Sink } from './sink.ts'

export type RelayNeeds = {
  readonly clock: Clock
  readonly readOnAfterFinishMs: number
  // Reading on for a caller that left is bounded per account; false: no place, abort.
  readonly readOn: () => boolean
}

export function relay(answer: Answer, sink: Sink, client: Client, gauge: Meter, needs: RelayNeeds): Promise<Delivery> {
  const { served } = answer
  let firstByteAt: number | null = null
  let producedBytes = 0

  const delivery = (outcome: Delivery['outcome'], failure?: Failure): Delivery => ({
    answer,
    outcome,
    failure,
    finishReason: gauge.finishReason,
    usage: gauge.usage,
    output: withProduced(gauge.output(), producedBytes),
    firstByteAt,
    headersLeft: sink.headersLeft(),
  })
  if (served === undefined) {
    const last = answer.attempts.at(-1)
    // Nobody was called: either there was nobody to call, and a failure says so, or the caller left before.
    const left = last === undefined ? answer.failures.length === 0 : last.outcome === 'client_left'
    return Promise.resolve(delivery(left ? 'client_left' : 'upstream_failed'))
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
    // The count of an answer that is finished but for its usage frame, or whose reasoning is hidden, is worth waiting for.
    const clientLeft = () => {
      if (over) return
      left = true
      const worthIt = gauge.finishReason !== null || answer.model.hiddenReasoning
      if (!worthIt || !needs.readOn()) return stopReading()
      served.flow.resume()
      if (gauge.finishReason !== null) readingOn = setTimeout(stopReading, needs.readOnAfterFinishMs)
    }
    const stopReading = () => {
      served.flow.abort()
      finish('client_left')
    }

    // What is nested so deeply that it cannot be written is no answer.
    const unfit = (error: unknown) => {
      if (!(error instanceof RangeError)) throw error
      served.flow.abort()
      finish('upstream_broke', new Failure('nonsense', `the answer cannot be passed on: ${error.message}`))
    }

    sink.served({
      model: answer.model.id,
      provider: served.provider,
      ignored: served.ignored,
      considered: answer.considered,
    })
    sink.onDrain(() => {
      if (!left) served.flow.resume()
    })
    served.listen({
      chunks(chunks) {
        if (over) return
        try {
          if (!left && !sink.chunks(chunks)) served.flow.pause()
        } catch (error) {
          return unfit(error)
        }
        gauge.chunks(chunks)
        firstByteAt ??= needs.clock.now()
      },
      whole(whole) {
        if (over) return
        try {
          sink.whole(whole)
        } catch (error) {
          return unfit(error)
        }
        gauge.whole(whole)
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
      served.flow.abort()
      finish('upstream_broke', failure)
    }
    stays = [client.onGone(clientLeft), client.onCut(cut)]
  })
}

// What could not be taken in was produced all the same.
function withProduced(output: OutputSeen, bytes: number): OutputSeen {
  return bytes === 0 ? output : { ...output, any: true, bytesBeyond: output.bytesBeyond + bytes }
}
