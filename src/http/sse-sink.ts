// The answer as a stream of server-sent events: frames that arrive together are sent together, the caller's pace is the
// upstream's pace, and the last bytes are sent only after the cost has been booked.
import type { StreamWriter } from '../dialects/dialect.ts'
import type { Nano } from '../domain/credits.ts'
import type { Receipt } from '../domain/handoff.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { CoarseTimer } from '../lib/coarse-timers.ts'
import type { ServedBy, Sink } from '../relay/sink.ts'
import { answerHeaders, type SinkSetup } from './json-sink.ts'
import { costHeader, sendRefusal } from './response.ts'

export function sseSink(setup: SinkSetup, writer: StreamWriter): Sink {
  const { ctx, reply, pace, timers } = setup
  const { res, call } = ctx
  let by: ServedBy | undefined
  // HTTP/1.0 has no trailers, and chunks only where the caller asks for them.
  const hasTrailers = ctx.req.httpVersion !== '1.0'
  let chunked = false
  let headersLeft = false
  let providerInTrailer = false
  let stalled: CoarseTimer | undefined
  let drained: () => void = () => undefined
  // Before the headers are sent it waits to send them; afterwards it fills silences.
  let quiet = timers.set(pace.headersLeaveAfterMs, () => {
    leave()
    res.flushHeaders()
  })
  res.once('close', stopTimers)

  function leave(): void {
    if (headersLeft || call.client.gone || res.headersSent) return
    quiet.cancel()
    providerInTrailer = by === undefined
    res.writeHead(200, streamHeaders(setup, by, hasTrailers))
    headersLeft = true
    // From here on we frame the chunks ourselves: Node would write four pieces for each.
    chunked = res.chunkedEncoding
    res.chunkedEncoding = false
    ctx.endInBand = endInBand
    quiet = timers.set(pace.keepAliveAfterMs, keepAlive)
  }

  function keepAlive(): void {
    if (stalled === undefined) res.write(inChunk(writer.keepAlive, chunked))
    quiet.again()
  }

  function onDrain(): void {
    stalled?.cancel()
    stalled = undefined
    drained()
  }

  // A caller that does not read for this long has left, whatever its socket reports.
  function waitForDrain(): void {
    if (stalled !== undefined) return
    stalled = timers.set(pace.writeStallMs, () => res.destroy())
    res.once('drain', onDrain)
  }

  function stopTimers(): void {
    quiet.cancel()
    stalled?.cancel()
  }

  // Declared, and not written where it is assigned: V8 allocates a function that is assigned to a field in the old generation,
  // and its whole closure, the request, would be kept until the next full collection.
  function endInBand(refusal: Refusal): void {
    end(writer.failed(refusal, undefined), ctx.booked)
  }

  function end(last: string, cost: Nano): void {
    stopTimers()
    const text = inChunk(last, chunked)
    const provider = providerInTrailer ? by?.provider : undefined
    const trailers = chunked && hasTrailers ? trailersOf(cost, provider, reply) : ''
    res.end(chunked ? `${text}0\r\n${trailers}\r\n` : text)
  }

  return {
    headersLeft: () => headersLeft,
    served(next) {
      by = next
      writer.served(next)
    },
    chunks(chunks) {
      const text = writer.chunks(chunks)
      if (text === '') return true
      leave()
      quiet.again()
      if (res.write(inChunk(text, chunked))) return true
      waitForDrain()
      return false
    },
    onDrain(listener) {
      drained = listener
    },
    whole: () => undefined,
    abandon: stopTimers,
    close(receipt: Receipt, refusal: Refusal | undefined) {
      stopTimers()
      if (call.client.gone) return
      if (refusal !== undefined && !headersLeft) {
        sendRefusal(ctx, refusal, reply)
        return
      }
      leave()
      end(refusal === undefined ? writer.completed(receipt) : writer.failed(refusal, receipt), receipt.cost)
    },
  }
}

// A provider that is not known yet is named in a trailer.
function streamHeaders(setup: SinkSetup, by: ServedBy | undefined, hasTrailers: boolean): string[] {
  const { headerPrefix } = setup.reply
  return [
    ...answerHeaders(setup, by),
    'Content-Type',
    'text/event-stream; charset=utf-8',
    'Cache-Control',
    'no-cache, no-transform',
    'X-Accel-Buffering',
    'no',
    ...(hasTrailers ? ['Trailer', `${headerPrefix}Cost${by === undefined ? `, ${headerPrefix}Provider` : ''}`] : []),
  ]
}

function trailersOf(cost: Nano, provider: string | undefined, reply: SinkSetup['reply']): string {
  const [name, value] = costHeader(cost, reply)
  return `${name}: ${value}\r\n${provider === undefined ? '' : `${reply.headerPrefix}Provider: ${provider}\r\n`}`
}

function inChunk(text: string, chunked: boolean): string {
  return chunked ? `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n` : text
}
