// `turnpike chat`: a streaming chat in the terminal, with the cost of each response.
import { createInterface } from 'node:readline/promises'
import { styleText } from 'node:util'
import { loadClientEnv } from '../../config/command-env.ts'
import { sseReader } from '../../lib/sse.ts'
import { escapeControls } from '../../lib/text.ts'
import { BadUsage, type Command, Failed, type Input } from '../command.ts'
import { type Connection, connect, URL_OPTIONS } from '../connection.ts'
import { readCount } from '../document.ts'
import { CLIENT_HELP, callWithKey, type Json, readWithKey } from '../http-client.ts'
import { clean, printJson } from '../output.ts'
import { allOfStdin } from '../stdin.ts'

const STDIN_CHARS_MAX = 4_000_000

export const commands: Readonly<Record<string, Command>> = {
  '': {
    usage: 'chat [MODEL] [options]',
    about: 'Chats with a model (default: the first active one). Press Ctrl-D to quit.',
    examples: ['turnpike chat', 'turnpike chat gpt-4o --message "Say hello"', 'cat notes.txt | turnpike chat gpt-4o'],
    commonOptions: URL_OPTIONS,
    options: {
      message: { value: 'TEXT', about: 'send one message, print the response and exit (default: read stdin)' },
      system: { value: 'TEXT', about: 'system prompt' },
      'max-tokens': { value: 'N', about: 'maximum number of tokens per response' },
      'key-stdin': { about: 'read the API key from the first line of stdin' },
    },
    more: `Reads the API key from TURNPIKE_API_KEY or stdin.\n${CLIENT_HELP}`,
    takes: [0, 1],
    run: chat,
  },
}

async function chat(input: Input): Promise<number> {
  const { key, message } = await readKeyAndMessage(input)
  const connection = await connect(input)
  const options: ChatOptions = {
    key,
    connection,
    model: input.args[0] ?? (await firstModel(connection, key)),
    maxTokens: readCount(input, 'max-tokens'),
    onText: input.json ? () => {} : printText,
  }
  const system = input.text('system')
  const turns: Turn[] = system === undefined ? [] : [{ role: 'system', content: system }]
  if (message === undefined) return talk(turns, options)
  const reply = await sendChat([...turns, { role: 'user', content: message }], options)
  if (input.json) printJson(reply)
  else printReceipt(reply)
  return 0
}

// What a model writes must not control the terminal. A file gets it as it is.
function printText(text: string): void {
  process.stdout.write(process.stdout.isTTY ? escapeControls(text) : text)
}

// Runs until end of input. A failed request is reported, and the chat continues.
async function talk(turns: Turn[], options: ChatOptions): Promise<number> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr, prompt: styleText('bold', '> ') })
  process.stderr.write(styleText('dim', `${clean(options.model)} (Ctrl-D to quit)\n`, { stream: process.stderr }))
  // Lines typed ahead are still read after Ctrl-D.
  let isOpen = true
  terminal.once('close', () => {
    isOpen = false
  })
  terminal.prompt()
  for await (const line of terminal) {
    if (line.trim() !== '') {
      const messages = [...turns, { role: 'user', content: line } as const]
      try {
        const reply = await sendChat(messages, options)
        printReceipt(reply)
        turns.splice(0, turns.length, ...messages, { role: 'assistant', content: reply.content })
      } catch (error) {
        process.stderr.write(`${styleText('red', clean((error as Error).message), { stream: process.stderr })}\n`)
      }
    }
    if (isOpen) terminal.prompt()
  }
  process.stderr.write('\n')
  return 0
}

// With --key-stdin, the first line is the key and the rest is the message.
async function readKeyAndMessage(input: Input): Promise<{ key: string; message: string | undefined }> {
  const isInteractive = process.stdin.isTTY && !input.flag('key-stdin')
  const reads = input.flag('key-stdin') || (!isInteractive && input.text('message') === undefined)
  const text = reads ? await allOfStdin(STDIN_CHARS_MAX) : ''
  const [first = '', ...rest] = input.flag('key-stdin') ? text.split('\n') : ['', text]
  const key = input.flag('key-stdin') ? first.trim() : loadClientEnv().apiKey
  if (key === undefined || key === '')
    throw new BadUsage('set TURNPIKE_API_KEY, or pass the key on stdin with --key-stdin')
  const message = input.text('message') ?? (isInteractive ? undefined : rest.join('\n').trim())
  if (message === '') throw new BadUsage('no message; pass --message or write it to stdin')
  if (message === undefined && input.json) throw new BadUsage('--json requires --message or a message on stdin')
  return { key, message }
}

function printReceipt({ usage, cost, provider, request_id: id }: Reply): void {
  const tokens = `${usage.prompt_tokens} prompt + ${usage.completion_tokens} completion tokens`
  const summary = [tokens, `${cost} credits`, provider, id].filter(Boolean).join(' · ')
  process.stdout.write('\n')
  process.stderr.write(`${styleText('dim', clean(summary), { stream: process.stderr })}\n`)
}

// Sends one chat request and reads the streamed response.
type Turn = { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }

type ChatOptions = {
  readonly connection: Connection
  readonly key: string
  readonly model: string
  readonly maxTokens: number | undefined
  onText(text: string): void
}

type Reply = {
  readonly model: string
  readonly content: string
  readonly finish_reason: string | null
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number }
  // Credits, exactly as the gateway wrote them.
  readonly cost: string
  readonly provider: string | null
  readonly request_id: string
}

const EVENT_BYTES_MAX = 4 * 1024 * 1024

type Chunk = {
  readonly model?: string
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null }
    readonly finish_reason?: string | null
  }[]
  readonly usage?: Reply['usage'] | null
  readonly error?: { readonly message?: string }
}

async function sendChat(
  messages: readonly Turn[],
  { connection, key, model, maxTokens, onText }: ChatOptions,
): Promise<Reply> {
  let reply = { ...NOTHING, model }
  let isDone = false
  const reader = sseReader(
    data => {
      isDone ||= data === '[DONE]'
      if (data === '[DONE]') return
      const chunk = parse(data, connection)
      if (chunk.error !== undefined) throw new Failed(chunk.error.message ?? 'the response was interrupted')
      const choice = chunk.choices?.[0]
      const text = choice?.delta?.content ?? ''
      if (text !== '') onText(text)
      reply = {
        ...reply,
        model: chunk.model ?? reply.model,
        content: reply.content + text,
        finish_reason: choice?.finish_reason ?? reply.finish_reason,
        ...(chunk.usage ? { usage: chunk.usage, cost: /"cost":([\d.]+)/.exec(data)?.[1] ?? reply.cost } : {}),
      }
    },
    { eventBytesMax: EVENT_BYTES_MAX },
  )

  const body = { model, messages, stream: true, stream_options: { include_usage: true }, max_tokens: maxTokens }
  for await (const piece of callWithKey(connection, '/chat/completions', key, body)) {
    if (piece instanceof Headers) reply = { ...reply, ...fromHeaders(piece) }
    else reader.push(piece)
  }
  reader.end()
  if (!isDone) throw new Failed(`the response of ${connection.url} is not complete`)
  return reply
}

function parse(data: string, { url }: Connection): Chunk {
  try {
    return (JSON.parse(data) ?? {}) as Chunk
  } catch {
    throw new Failed(`${url} does not look like Turnpike (not JSON)`)
  }
}

const NOTHING: Reply = {
  model: '',
  content: '',
  finish_reason: null,
  usage: { prompt_tokens: 0, completion_tokens: 0 },
  cost: '0',
  provider: null,
  request_id: '',
}

// The prefix of the gateway's headers is configurable.
function fromHeaders(headers: Headers): Pick<Reply, 'provider' | 'request_id'> {
  const name = [...headers.keys()].find(each => each.endsWith('-provider')) ?? ''
  return { provider: name === '' ? null : headers.get(name), request_id: headers.get('x-request-id') ?? '' }
}

async function firstModel(connection: Connection, key: string): Promise<string> {
  const { data } = await readWithKey(connection, '/models', key)
  const first = (data as readonly Json[])[0]?.id
  if (typeof first !== 'string') throw new Failed('no active model')
  return first
}
