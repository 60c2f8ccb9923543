// `turnpike chat`: a chat from the shell, word by word, with the duration and cost of each answer.
import { createInterface } from 'node:readline/promises'
import { styleText } from 'node:util'
import { loadClientConfig } from '../../config/config.ts'
import { BadUsage, type Command, type Input } from '../command.ts'
import { readCount } from '../document.ts'
import { CLIENT_HELP } from '../http-client.ts'
import { printJson } from '../output.ts'
import { allOfStdin } from '../stdin.ts'
import { type Ask, type Reply, say, someModel, type Turn } from './chat-call.ts'

const STDIN_CHARS_MAX = 4_000_000

export const commands: Readonly<Record<string, Command>> = {
  '': {
    usage: 'chat [MODEL] [options]',
    about: 'Chats with a model, the first one there is unless named. Ctrl-D ends it.',
    options: {
      message: { value: 'TEXT', about: 'say this, print the answer and end; without it what is on stdin is said' },
      system: { value: 'TEXT', about: 'how the model should behave' },
      'max-tokens': { value: 'N', about: 'most tokens of each answer' },
      'key-stdin': { about: 'read the key from the first line of stdin instead of TURNPIKE_API_KEY' },
    },
    more: `The key comes from TURNPIKE_API_KEY or from stdin. ${CLIENT_HELP}`,
    takes: [0, 1],
    run: chat,
  },
}

async function chat(input: Input): Promise<number> {
  const { key, message } = await whatWasGiven(input)
  const ask: Ask = {
    key,
    model: input.args[0] ?? (await someModel(key)),
    maxTokens: readCount(input, 'max-tokens'),
    onWords: input.json ? () => {} : words => void process.stdout.write(words),
  }
  const system = input.text('system')
  const turns: Turn[] = system === undefined ? [] : [{ role: 'system', content: system }]
  if (message === undefined) return talk(turns, ask)
  const reply = await say([...turns, { role: 'user', content: message }], ask)
  if (input.json) printJson(reply)
  else printReceipt(reply)
  return 0
}

// Until the person at the terminal ends the input. A failed answer is reported, and can be requested again.
async function talk(turns: Turn[], ask: Ask): Promise<number> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr, prompt: styleText('bold', '> ') })
  process.stderr.write(styleText('dim', `${ask.model}; Ctrl-D ends\n`, { stream: process.stderr }))
  // Lines that were typed ahead are still read after Ctrl-D.
  let isOpen = true
  terminal.once('close', () => {
    isOpen = false
  })
  terminal.prompt()
  for await (const line of terminal) {
    if (line.trim() !== '') {
      const asked = [...turns, { role: 'user', content: line } as const]
      try {
        const reply = await say(asked, ask)
        printReceipt(reply)
        turns.splice(0, turns.length, ...asked, { role: 'assistant', content: reply.content })
      } catch (error) {
        process.stderr.write(`${styleText('red', (error as Error).message, { stream: process.stderr })}\n`)
      }
    }
    if (isOpen) terminal.prompt()
  }
  process.stderr.write('\n')
  return 0
}

// A key on stdin is its first line, and the message may follow.
async function whatWasGiven(input: Input): Promise<{ key: string; message: string | undefined }> {
  const isTalk = process.stdin.isTTY && !input.flag('key-stdin')
  const reads = input.flag('key-stdin') || (!isTalk && input.text('message') === undefined)
  const text = reads ? await allOfStdin(STDIN_CHARS_MAX) : ''
  const [first = '', ...rest] = input.flag('key-stdin') ? text.split('\n') : ['', text]
  const key = input.flag('key-stdin') ? first.trim() : loadClientConfig().apiKey
  if (key === undefined || key === '')
    throw new BadUsage('set TURNPIKE_API_KEY, or give the key on stdin with --key-stdin')
  const message = input.text('message') ?? (isTalk ? undefined : rest.join('\n').trim())
  if (message === '') throw new BadUsage('there is nothing to say: give --message or write it to stdin')
  if (message === undefined && input.json) throw new BadUsage('--json needs --message, or a message on stdin')
  return { key, message }
}

function printReceipt({ usage, cost, provider, request_id: id }: Reply): void {
  const tokens = `${usage.prompt_tokens} tokens in, ${usage.completion_tokens} out`
  const facts = [tokens, `${cost} credits`, provider, id].filter(Boolean).join(' · ')
  process.stdout.write('\n')
  process.stderr.write(`${styleText('dim', facts, { stream: process.stderr })}\n`)
}
