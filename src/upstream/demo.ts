// The built-in provider: offline and deterministic. It echoes the last user message word by word and reports usage, so that a
// first start works without any account.
import type { Provider } from '../domain/catalog.ts'
import type { Chat } from '../domain/chat.ts'
import type { AnswerListener, UpstreamStream } from '../domain/handoff.ts'
import { spokenTexts } from '../domain/prompt.ts'
import type { Adapter, UpstreamRequest } from './adapter.ts'
import { demoVectors } from './demo-vectors.ts'
import { wholeOf } from './embedding-answer.ts'

const WORD_MS = 15

export function demoAdapter(provider: Provider): Adapter {
  return {
    provider,
    call(upstreamRequest, listener) {
      upstreamRequest.onSent()
      if (upstreamRequest.chat.embedding !== undefined) return embedded(upstreamRequest, listener)
      return upstreamRequest.chat.stream ? streamed(upstreamRequest, listener) : atOnce(upstreamRequest, listener)
    },
    ignored: ({ extras, leftOut }) => [...extras.keys(), ...leftOut],
    retire: () => undefined,
    close: async () => undefined,
  }
}

function atOnce(upstreamRequest: UpstreamRequest, listener: AnswerListener): UpstreamStream {
  let stopped = false
  const { words, said, finish, usage } = script(upstreamRequest)
  setImmediate(() => {
    if (stopped) return
    const message = { role: 'assistant', content: words(0, said), refusal: null }
    const choices = Array.from({ length: upstreamRequest.chat.n }, (_, index) => ({
      index,
      message,
      logprobs: null,
      finish_reason: finish,
    }))
    listener.whole({ choices, usage, fingerprint: undefined })
    listener.end(undefined)
  })
  return {
    pause() {},
    resume() {},
    abort: () => (stopped = true),
    upstreamId: () => `demo-${upstreamRequest.requestId}`,
  }
}

function embedded(upstreamRequest: UpstreamRequest, listener: AnswerListener): UpstreamStream {
  let stopped = false
  const { chat, vectors } = upstreamRequest
  const { embedding } = chat
  void demoVectors(embedding!, vectors?.dimensions ?? 1, () => stopped).then(embeddings => {
    if (stopped) return
    listener.whole(wholeOf([{ embeddings, usage: { prompt_tokens: tokensOf(chat) } }]))
    listener.end(undefined)
  })
  return {
    pause() {},
    resume() {},
    abort: () => (stopped = true),
    upstreamId: () => `demo-${upstreamRequest.requestId}`,
  }
}

// A word is a token here; tokens that the caller counted are themselves.
function tokensOf({ embedding, messages, promptBytes }: Chat): number {
  if (typeof embedding?.inputs[0] === 'object') return promptBytes
  let heard = 0
  for (const text of spokenTexts(messages)) heard += countWords(text)
  return Math.max(1, heard)
}

function streamed(upstreamRequest: UpstreamRequest, listener: AnswerListener): UpstreamStream {
  const { words, said, finish, usage } = script(upstreamRequest)
  const indexes = Array.from({ length: upstreamRequest.chat.n }, (_, index) => index)
  let next = 0
  let timer: NodeJS.Timeout | undefined

  function say(): void {
    if (next < said) {
      const word = words(next, next + 1)
      next += 1
      listener.chunks([chunk(indexes.map(index => ({ index, delta: { content: word }, finish_reason: null })))])
      return
    }
    clearInterval(timer)
    listener.chunks([
      chunk(indexes.map(index => ({ index, delta: {}, finish_reason: finish }))),
      { ...chunk([]), usage },
    ])
    listener.end(undefined)
  }
  const resume = () => {
    clearInterval(timer)
    timer = setInterval(say, WORD_MS)
  }
  resume()
  return {
    pause: () => clearInterval(timer),
    resume,
    abort: () => clearInterval(timer),
    upstreamId: () => `demo-${upstreamRequest.requestId}`,
  }
}

function chunk(choices: { index: number; delta: Record<string, unknown>; finish_reason: string | null }[]) {
  return { choices, usage: undefined, fingerprint: undefined }
}

// A word is a token here, in the prompt and in the answer. No more of the message is read than may be echoed.
function script({ chat, outputTokens, outputBound }: UpstreamRequest) {
  const echo = `You said: ${lastUserText(chat)}`
  const cap = outputTokens ?? outputBound
  const ends = wordEnds(echo, cap + 1)
  const said = Math.min(ends.length, cap)
  let heard = 0
  for (const text of spokenTexts(chat.messages)) heard += countWords(text)
  const prompt = Math.max(1, heard)
  const completion = Math.max(1, said) * chat.n
  return {
    // The words of a range.
    words: (from: number, to: number) => echo.slice(ends[from - 1] ?? 0, ends[Math.min(to, said) - 1] ?? 0),
    said,
    finish: said < ends.length ? 'length' : 'stop',
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
  }
}

function lastUserText(chat: Chat): string {
  const last = chat.messages.findLast(message => message.role === 'user') ?? chat.messages.at(-1)
  return last === undefined ? '' : [...spokenTexts([last])].join(' ')
}

// The words of a text, each with its leading blanks: what the built-in provider counts as tokens. One pass, whatever the text.
// A longer word is several tokens, so that an answer is in proportion to its cost.
const WORD_CHARS_MAX = 64

// The end of each word, for the first `max` words.
export function wordEnds(text: string, max: number): readonly number[] {
  const ends: number[] = []
  let at = 0
  while (ends.length < max) {
    at = nextEnd(text, at)
    if (at < 0) break
    ends.push(at)
  }
  return ends
}

export function countWords(text: string): number {
  let count = 0
  for (let at = nextEnd(text, 0); at >= 0; at = nextEnd(text, at)) count += 1
  return count
}

// The end of the word that begins at or after `at`; -1 if only blanks are left.
function nextEnd(text: string, at: number): number {
  const { length } = text
  let i = at
  while (i < length && BLANK[text.charCodeAt(i)] === 1) i++
  if (i === length) return -1
  const most = Math.min(length, i + WORD_CHARS_MAX)
  while (i < most && BLANK[text.charCodeAt(i)] === 0) i++
  // A surrogate pair is not split.
  return i < length && isHighSurrogate(text.charCodeAt(i - 1)) ? i + 1 : i
}

// What `\s` matches, by code: a table, since it is used for millions of characters.
const BLANK = new Uint8Array(0x10000)
for (const code of [0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff]) {
  BLANK[code] = 1
}
BLANK.fill(1, 0x2000, 0x200b)

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
