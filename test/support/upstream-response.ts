// Plays one plan to one caller: the head, then a body, a bomb, raw frames, a JSON completion or a stream.
import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { ChatBody } from './chat-body.ts'
import { completionText, count, type Piece, promptTokensOf, streamPieces } from './completion-parts.ts'
import { type EmbeddingsBody, embeddingsText } from './embedding-vendor.ts'
import type { JournalEntry } from './upstream-journal.ts'
import { messagePieces, messageText } from './upstream-messages.ts'
import type { Plan } from './upstream-plan.ts'
import { responsePieces, responseText } from './upstream-responses.ts'
import type { Wire } from './upstream-wire.ts'

const EVENT_STREAM = 'text/event-stream'
const JSON_TYPE = 'application/json'

export async function answer(plan: Plan, chat: ChatBody, entry: JournalEntry, wire: Wire): Promise<void> {
  await wire.sleep(plan.delayMs)
  if (plan.resetBeforeHeaders) await wire.die('reset')

  const status = plan.status ?? (plan.redirectTo === undefined ? 200 : 302)
  if (plan.gzipBomb !== undefined) await sendBomb(plan.gzipBomb, status, chat, plan, wire)
  else if (plan.body !== undefined) await sendWhole(plan.body, status, plan, wire)
  else if (status === 204 || status === 304) await sendNothing(status, plan, wire)
  else if (status >= 300) await sendWhole(errorText(status), status, plan, wire)
  else if (plan.rawFrames !== undefined) await sendFrames(plan.rawFrames, status, plan, wire)
  else if (chat.stream) await sendStream(status, chat, entry, plan, wire)
  else await sendCompletion(status, chat, entry, plan, wire)

  if (plan.neverEnd) await wire.hang()
  await wire.end()
}

async function sendWhole(body: string | Buffer, status: number, plan: Plan, wire: Wire): Promise<void> {
  const headers = headersOf(plan, JSON_TYPE)
  if (!plan.neverEnd) headers['content-length'] ??= String(Buffer.byteLength(body))
  wire.head(status, headers)
  await wire.sleep(plan.firstByteDelayMs)
  await wire.write(body)
}

async function sendNothing(status: number, plan: Plan, wire: Wire): Promise<void> {
  wire.head(status, headersOf(plan, JSON_TYPE))
}

async function sendBomb(bytes: number, status: number, chat: ChatBody, plan: Plan, wire: Wire): Promise<void> {
  const type = chat.stream ? EVENT_STREAM : JSON_TYPE
  wire.head(status, { ...headersOf(plan, type), 'content-encoding': 'gzip' })
  const spaces = Readable.from(blanks(bytes)).pipe(createGzip())
  for await (const piece of spaces) await wire.write(piece as Buffer)
}

async function sendFrames(frames: readonly (string | Buffer)[], status: number, plan: Plan, wire: Wire): Promise<void> {
  wire.head(status, headersOf(plan, EVENT_STREAM))
  await wire.sleep(plan.firstByteDelayMs)
  for (const frame of frames) {
    await wire.write(frame)
    await wire.sleep(plan.chunkDelayMs ?? 1) // so that each frame is a separate packet
  }
}

async function sendCompletion(
  status: number,
  chat: ChatBody,
  entry: JournalEntry,
  plan: Plan,
  wire: Wire,
): Promise<void> {
  entry.tokens.prompt = promptTokensOf(plan, chat)
  if (chat.dialect === 'embeddings') {
    const usage = plan.usage === 'none' ? undefined : entry.tokens.prompt
    return sendWhole(embeddingsText(entry.body as EmbeddingsBody, usage), status, plan, wire)
  }
  const text = completionText(plan, chat, entry.tokens)
  await sendWhole(wholeText(text, chat), status, plan, wire)
}

async function sendStream(status: number, chat: ChatBody, entry: JournalEntry, plan: Plan, wire: Wire): Promise<void> {
  entry.tokens.prompt = promptTokensOf(plan, chat)
  wire.head(status, headersOf(plan, EVENT_STREAM))
  await wire.sleep(plan.firstByteDelayMs)
  if (plan.bom) await wire.write('\uFEFF')
  if (plan.emptyLines !== undefined) await wire.write((plan.eol ?? '\n').repeat(plan.emptyLines))
  if (plan.endlessLine !== undefined) await sendEndlessLine(plan.endlessLine, wire)

  for (const piece of dialectPieces(plan, chat)) {
    if (piece.produces !== undefined && entry.chunks === 0 && (await breaksOff(0, plan, wire))) return
    if (piece.produces !== undefined && entry.chunks > 0) await wire.sleep(plan.chunkDelayMs)
    await wire.write(chat.dialect === undefined ? frameText(piece.json, entry.chunks, plan) : piece.json)
    if (piece.produces === undefined) continue

    count(entry.tokens, piece.produces)
    entry.chunks += 1
    if (entry.chunks === 1) await sendOddities(plan, wire)
    if (await breaksOff(entry.chunks, plan, wire)) return
  }
  if (chat.dialect === undefined) await sendDone(plan.done ?? 'normal', plan, wire)
}

function wholeText(text: string, { dialect }: ChatBody): string {
  if (dialect === 'messages') return messageText(text)
  return dialect === 'responses' ? responseText(text) : text
}

function dialectPieces(plan: Plan, chat: ChatBody): Iterable<Piece> {
  const pieces = streamPieces(plan, chat)
  if (chat.dialect === 'messages') return messagePieces(pieces, promptTokensOf(plan, chat))
  return chat.dialect === 'responses' ? responsePieces(pieces) : pieces
}

// The plan after its first content chunk.
async function sendOddities(plan: Plan, wire: Wire): Promise<void> {
  if (plan.garbageFrame !== undefined) await wire.write(frameText(plan.garbageFrame, 0, plan))
  if (plan.done === 'early') await wire.write(frameText('[DONE]', 0, plan))
}

// True when the plan ends the stream here; a death or a stall never returns.
async function breaksOff(chunks: number, plan: Plan, wire: Wire): Promise<boolean> {
  if (chunks === plan.dieAfterChunks) await wire.die(plan.dieBy ?? 'close')
  if (chunks === plan.stallAfterChunks) await wire.hang()
  if (chunks !== plan.errorFrameAfterChunks) return false
  const error = plan.errorFrame ?? { error: { message: 'upstream broke', type: 'server_error', code: 'server_error' } }
  await wire.write(frameText(JSON.stringify(error), 0, plan))
  await sendDone(plan.done ?? 'missing', plan, wire)
  return true
}

async function sendDone(done: NonNullable<Plan['done']>, plan: Plan, wire: Wire): Promise<void> {
  const times = { normal: 1, missing: 0, twice: 2, early: 0 }[done]
  for (let i = 0; i < times; i++) await wire.write(frameText('[DONE]', 0, plan))
}

async function sendEndlessLine(bytes: number | true, wire: Wire): Promise<void> {
  await wire.write('data: {"x":"')
  for (const piece of blanks(bytes === true ? Number.POSITIVE_INFINITY : bytes)) await wire.write(piece)
}

// Comments have one line end and two in turn: both are legal.
function frameText(data: string, index: number, plan: Plan): string {
  const eol = plan.eol ?? '\n'
  const frame = `data: ${data}${eol}${eol}`
  if (!plan.comments) return frame
  const words = plan.comments === true ? 'PROCESSING' : plan.comments
  return `: ${words}${eol.repeat(1 + (index % 2))}${frame}`
}

const BLANKS = Buffer.alloc(64 * 1024, ' ')

function* blanks(bytes: number): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= BLANKS.length) yield BLANKS.subarray(0, Math.min(left, BLANKS.length))
}

function headersOf(plan: Plan, contentType: string): Record<string, string | string[]> {
  return {
    'content-type': plan.contentType ?? contentType,
    ...(plan.redirectTo === undefined ? {} : { location: plan.redirectTo }),
    ...(plan.setCookie === undefined ? {} : { 'set-cookie': plan.setCookie }),
    ...plan.headers,
    ...plan.extraHeaders,
  }
}

function errorText(status: number): string {
  const type = status < 500 ? 'invalid_request_error' : 'server_error'
  return JSON.stringify({ error: { message: `scripted ${status}`, type, param: null, code: `scripted_${status}` } })
}
