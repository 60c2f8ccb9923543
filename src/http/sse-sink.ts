// The answer as a stream of server-sent events: frames that arrive together are sent together, the caller's pace is the
// upstream's pace, and the last bytes are sent only after the cost has been booked.
import type { Nano } from '../domain/credits.ts'
import type { Chunk, ChunkChoice, Receipt } from '../domain/handoff.ts'
import { errorBody, type Refusal } from '../domain/refusal.ts'
import type { CoarseTimer } from '../lib/coarse-timers.ts'
import type { ServedBy, Sink } from '../relay/sink.ts'
import { metadataJson, OUR_FINGERPRINT, usageJson } from './answer-json.ts'
import { answerHeaders, type SinkSetup } from './json-sink.ts'
import { costHeader, sendRefusal } from './response.ts'

export function sseSink(setup: SinkSetup, includeUsage: boolean): Sink {
  const { ctx, reply, pace, timers } = setup
  const { res, call } = ctx
  const opening = `data: {"id":"chatcmpl-${call.requestId}","object":"chat.completion.chunk","created":${Math.floor(call.receivedAt / 1000)},"model":`
  let head = `${opening}${JSON.stringify(setup.model)},"system_fingerprint":`
  const tail = includeUsage ? ',"usage":null}\n\n' : '}\n\n'
  // HTTP/1.0 has no trailers, and chunks only where the caller asks for them.
  const hasTrailers = ctx.req.httpVersion !== '1.0'
  let chunked = false
  const spoken = new Set<number>()
  let fingerprint = JSON.stringify(OUR_FINGERPRINT)
  let by: ServedBy | undefined
  let headersLeft = false
  let providerInTrailer = false
  let { explain } = setup
  let stalled: CoarseTimer | undefined
  let drained: () => void = () => undefined
  // Before the headers are sent it waits to send them; afterwards it fills silences.
  let quiet = timers.set(pace.headersLeaveAfterMs, () => {
    leave()
    res.flushHeaders()
  })

  function leave(): void {
    if (headersLeft || call.client.gone || res.headersSent) return
    quiet.cancel()
    providerInTrailer = by === undefined
    const { headerPrefix } = reply
    const trailer = `${headerPrefix}Cost${providerInTrailer ? `, ${headerPrefix}Provider` : ''}`
    res.writeHead(200, [
      ...answerHeaders(setup, by),
      'Content-Type',
      'text/event-stream; charset=utf-8',
      'Cache-Control',
      'no-cache, no-transform',
      'X-Accel-Buffering',
      'no',
      ...(hasTrailers ? ['Trailer', trailer] : []),
    ])
    headersLeft = true
    // From here on we frame the chunks ourselves: Node would write four pieces for each.
    chunked = res.chunkedEncoding
    res.chunkedEncoding = false
    ctx.endInBand = endInBand
    quiet = timers.set(pace.keepAliveAfterMs, keepAlive)
  }

  function keepAlive(): void {
    if (stalled === undefined) res.write(framed(': keep-alive\n'))
    quiet.again()
  }

  function frame(chunk: Chunk): string {
    if (chunk.fingerprint !== undefined) fingerprint = JSON.stringify(chunk.fingerprint)
    for (const choice of chunk.choices) if (!spoken.has(choice.index)) giveRole(choice)
    return `${head}${fingerprint},"choices":${JSON.stringify(chunk.choices)}${explained()}${tail}`
  }

  // On the first chunk alone.
  function explained(): string {
    if (!explain || by === undefined) return ''
    explain = false
    return `,${metadataJson(by)}`
  }

  // The first delta of each choice has the role, whether the upstream sent it or not.
  function giveRole(choice: ChunkChoice): void {
    spoken.add(choice.index)
    if (choice.delta.role !== 'assistant') choice.delta = { ...choice.delta, role: 'assistant' }
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
  res.once('close', stopTimers)

  return {
    headersLeft: () => headersLeft,
    served(next) {
      by = next
      if (next.model !== setup.model) head = `${opening}${JSON.stringify(next.model)},"system_fingerprint":`
    },
    chunks(chunks) {
      let text = ''
      for (const chunk of chunks) if (chunk.choices.length > 0) text += frame(chunk)
      if (text === '') return true
      leave()
      quiet.again()
      if (res.write(framed(text))) return true
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
      const usage = includeUsage ? `${head}${fingerprint},"choices":[],"usage":${usageJson(receipt)}}\n\n` : ''
      end(refusal === undefined ? usage : errorFrame(refusal) + usage, receipt.cost)
    },
  }

  // Declared, and not written where it is assigned: V8 allocates a function that is assigned to a field in the old generation,
  // and its whole closure, the request, would be kept until the next full collection.
  function endInBand(refusal: Refusal): void {
    end(errorFrame(refusal), ctx.booked)
  }

  function end(last: string, cost: Nano): void {
    stopTimers()
    const text = framed(`${last}data: [DONE]\n\n`)
    res.end(chunked ? `${text}0\r\n${trailers(cost)}\r\n` : text)
  }

  function framed(text: string): string {
    return chunked ? `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n` : text
  }

  function trailers(cost: Nano): string {
    const [name, value] = costHeader(cost, reply)
    const provider = providerInTrailer && by !== undefined ? `${reply.headerPrefix}Provider: ${by.provider}\r\n` : ''
    return hasTrailers ? `${name}: ${value}\r\n${provider}` : ''
  }

  function errorFrame(refusal: Refusal): string {
    const { error } = errorBody(refusal, call.requestId)
    const choices = '[{"index":0,"delta":{},"logprobs":null,"finish_reason":"error"}]'
    return `${head}${fingerprint},"choices":${choices},"error":${JSON.stringify(error)}${tail}`
  }
}
