// The answer as a stream of server-sent events: frames that arrive together are sent together, the caller's pace is the
// upstream's pace, and the last bytes are sent only after the cost has been booked.
import type { Nano } from '../domain/credits.ts'
import type { Chunk, ChunkChoice, Receipt } from '../domain/handoff.ts'
import { errorBody, type Refusal } from '../domain/refusal.ts'
import type { CoarseTimer } from '../lib/coarse-timers.ts'
import type { ServedBy, Sink } from '../relay/sink.ts'
import { answerHeaders, metadataJson, OUR_FINGERPRINT, type SinkSetup, usageJson } from './json-sink.ts'
import { costHeader, sendRefusal } from './response.ts'

export function sseSink(setup: SinkSetup, includeUsage: boolean): Sink {
  const { ctx, reply, pace, timers } = setup
  const { res, call } = ctx
  const frames = openFrames(setup, includeUsage)
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
    providerInTrailer = frames.by === undefined
    res.writeHead(200, streamHeaders(setup, frames.by, hasTrailers))
    headersLeft = true
    // From here on we frame the chunks ourselves: Node would write four pieces for each.
    chunked = res.chunkedEncoding
    res.chunkedEncoding = false
    ctx.endInBand = endInBand
    quiet = timers.set(pace.keepAliveAfterMs, keepAlive)
  }

  function keepAlive(): void {
    if (stalled === undefined) res.write(inChunk(': keep-alive\n', chunked))
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
    end(errorFrame(frames, refusal), ctx.booked)
  }

  function end(last: string, cost: Nano): void {
    stopTimers()
    const text = inChunk(`${last}data: [DONE]\n\n`, chunked)
    const provider = providerInTrailer ? frames.by?.provider : undefined
    const trailers = chunked && hasTrailers ? trailersOf(cost, provider, reply) : ''
    res.end(chunked ? `${text}0\r\n${trailers}\r\n` : text)
  }

  return {
    headersLeft: () => headersLeft,
    served: by => frameAs(frames, by),
    chunks(chunks) {
      let text = ''
      for (const chunk of chunks) if (chunk.choices.length > 0) text += chunkFrame(frames, chunk)
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
      const usage = includeUsage ? usageFrame(frames, receipt) : ''
      end(refusal === undefined ? usage : errorFrame(frames, refusal) + usage, receipt.cost)
    },
  }
}

// What the frames of one stream have in common, and what the first of them alone contains.
type Frames = {
  readonly requestId: string
  readonly opening: string
  readonly model: string
  head: string
  readonly tail: string
  fingerprint: string
  by: ServedBy | undefined
  explain: boolean
  // The choices whose role has been sent.
  readonly spoken: Set<number>
}

function openFrames({ ctx, model, explain }: SinkSetup, includeUsage: boolean): Frames {
  const { requestId, receivedAt } = ctx.call
  const opening = `data: {"id":"chatcmpl-${requestId}","object":"chat.completion.chunk","created":${Math.floor(receivedAt / 1000)},"model":`
  return {
    requestId,
    opening,
    model,
    head: headFor(opening, model),
    tail: includeUsage ? ',"usage":null}\n\n' : '}\n\n',
    fingerprint: JSON.stringify(OUR_FINGERPRINT),
    by: undefined,
    explain,
    spoken: new Set(),
  }
}

function headFor(opening: string, model: string): string {
  return `${opening}${JSON.stringify(model)},"system_fingerprint":`
}

function frameAs(frames: Frames, by: ServedBy): void {
  frames.by = by
  if (by.model !== frames.model) frames.head = headFor(frames.opening, by.model)
}

function chunkFrame(frames: Frames, chunk: Chunk): string {
  if (chunk.fingerprint !== undefined) frames.fingerprint = JSON.stringify(chunk.fingerprint)
  for (const choice of chunk.choices) if (!frames.spoken.has(choice.index)) giveRole(frames, choice)
  return `${frames.head}${frames.fingerprint},"choices":${JSON.stringify(chunk.choices)}${explained(frames)}${frames.tail}`
}

// The first delta of each choice has the role, whether the upstream sent it or not.
function giveRole({ spoken }: Frames, choice: ChunkChoice): void {
  spoken.add(choice.index)
  if (choice.delta.role !== 'assistant') choice.delta = { ...choice.delta, role: 'assistant' }
}

// On the first chunk alone.
function explained(frames: Frames): string {
  if (!frames.explain || frames.by === undefined) return ''
  frames.explain = false
  return `,${metadataJson(frames.by)}`
}

function errorFrame({ requestId, head, fingerprint, tail }: Frames, refusal: Refusal): string {
  const { error } = errorBody(refusal, requestId)
  const choices = '[{"index":0,"delta":{},"logprobs":null,"finish_reason":"error"}]'
  return `${head}${fingerprint},"choices":${choices},"error":${JSON.stringify(error)}${tail}`
}

function usageFrame({ head, fingerprint }: Frames, receipt: Receipt): string {
  return `${head}${fingerprint},"choices":[],"usage":${usageJson(receipt)}}\n\n`
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
