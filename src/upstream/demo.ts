// The built-in provider: offline and deterministic. It echoes the last user message word by word and reports usage, so
// that a first start can be tried without any account anywhere.
import type { Provider } from '../domain/catalog.ts'
import type { Chat } from '../domain/chat.ts'
import type { AnswerListener, Flow } from '../domain/handoff.ts'
import { spokenTexts } from '../domain/prompt.ts'
import type { Adapter, Errand } from './adapter.ts'

const WORD_MS = 15

export function demoAdapter(provider: Provider): Adapter {
  return {
    provider,
    call(errand, listener) {
      errand.onSent()
      return errand.chat.stream ? streamed(errand, listener) : atOnce(errand, listener)
    },
    ignored: ({ extras, leftOut }) => [...Object.keys(extras), ...leftOut],
    retire: () => undefined,
    close: async () => undefined,
  }
}

function atOnce(errand: Errand, listener: AnswerListener): Flow {
  let stopped = false
  const { words, finish, usage } = script(errand)
  setImmediate(() => {
    if (stopped) return
    const message = { role: 'assistant', content: words.join(''), refusal: null }
    const choices = Array.from({ length: errand.chat.n }, (_, index) => ({
      index,
      message,
      logprobs: null,
      finish_reason: finish,
    }))
    listener.whole({ choices, usage, fingerprint: undefined })
    listener.end(undefined)
  })
  return { pause() {}, resume() {}, abort: () => (stopped = true), upstreamId: () => `demo-${errand.requestId}` }
}

function streamed(errand: Errand, listener: AnswerListener): Flow {
  const { words, finish, usage } = script(errand)
  const indexes = Array.from({ length: errand.chat.n }, (_, index) => index)
  let next = 0
  let timer: NodeJS.Timeout | undefined

  function say(): void {
    const word = words[next]
    next += 1
    if (word !== undefined) {
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
    upstreamId: () => `demo-${errand.requestId}`,
  }
}

function chunk(choices: { index: number; delta: Record<string, unknown>; finish_reason: string | null }[]) {
  return { choices, usage: undefined, fingerprint: undefined }
}

// Here a word is a token, in the prompt as in the answer.
function script({ chat, outputTokens }: Errand) {
  const heard = [...spokenTexts(chat.messages)]
  const echo = `You said: ${lastUserText(chat)}`
  const all = echo.match(/\s*\S+/g) ?? []
  const words = outputTokens === null ? all : all.slice(0, outputTokens)
  const prompt = Math.max(
    1,
    heard.reduce((sum, text) => sum + (text.match(/\S+/g)?.length ?? 0), 0),
  )
  const completion = Math.max(1, words.length) * chat.n
  return {
    words,
    finish: words.length < all.length ? 'length' : 'stop',
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
  }
}

function lastUserText(chat: Chat): string {
  const last = chat.messages.findLast(message => message.role === 'user') ?? chat.messages.at(-1)
  return last === undefined ? '' : [...spokenTexts([last])].join(' ')
}
