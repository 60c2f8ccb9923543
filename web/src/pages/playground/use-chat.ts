// The conversation of the playground with one model, or with two at once.
import { useEffect, useRef, useState } from 'react'
import { ApiError } from '../../api/call.ts'
import { type ChatOptions, type Message, type RawExchange, streamChat } from '../../api/chat.ts'
import { forgetKey, keyFor } from './own-key.ts'
import type { Settings } from './settings.tsx'

export type AnswerState = {
  readonly is: 'running' | 'done' | 'stopped' | 'failed'
  readonly model: string
  readonly text: string
  readonly requestId: string | null
  readonly raw: RawExchange | undefined
  readonly error: unknown
}

// One message, and the answer of each model to it.
export type TurnState = { readonly question: string; readonly answers: readonly AnswerState[] }

export type Chat = {
  readonly turns: readonly TurnState[]
  readonly isRunning: boolean
  send(question: string): void
  stop(): void
  clear(): void
}

export function useChat(settings: Settings): Chat {
  const [turns, setTurns] = useState<readonly TurnState[]>([])
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])

  function send(question: string): void {
    const abort = new AbortController()
    running.current = abort
    const models = [settings.model, settings.other].filter(model => model !== '')
    setTurns([...turns, { question, answers: models.map(newAnswer) }])
    for (const [index, model] of models.entries()) {
      void ask(
        model,
        index,
        [...turns.flatMap(turn => messagesOf(turn, model)), { role: 'user', content: question }],
        abort,
      )
    }
  }

  async function ask(model: string, index: number, messages: readonly Message[], abort: AbortController) {
    const change = (with_: (answer: AnswerState) => Partial<AnswerState>) =>
      setTurns(all => all.map((turn, at) => (at === all.length - 1 ? withAnswer(turn, index, with_) : turn)))
    const pasted = settings.pasted.trim()
    try {
      await streamChat({
        dialect: settings.dialect,
        key: pasted === '' ? await keyFor(settings.account) : pasted,
        model,
        messages,
        options: optionsOf(settings, index),
        signal: abort.signal,
        onText: piece => change(({ text }) => ({ text: text + piece })),
        onRequestId: requestId => change(() => ({ requestId })),
        onRaw: raw => change(() => ({ raw })),
      })
      change(() => ({ is: 'done' }))
    } catch (error) {
      const isRefused = error instanceof ApiError && [401, 402].includes(error.status)
      if (isRefused && pasted === '') forgetKey(settings.account)
      change(() => (abort.signal.aborted ? { is: 'stopped' } : { is: 'failed', error }))
    }
  }

  return {
    turns,
    isRunning: turns.at(-1)?.answers.some(({ is }) => is === 'running') ?? false,
    send,
    stop: () => running.current?.abort(),
    clear: () => setTurns([]),
  }
}

function newAnswer(model: string): AnswerState {
  return { is: 'running', model, text: '', requestId: null, raw: undefined, error: undefined }
}

function withAnswer(turn: TurnState, index: number, with_: (answer: AnswerState) => Partial<AnswerState>): TurnState {
  return { ...turn, answers: turn.answers.map((each, at) => (at === index ? { ...each, ...with_(each) } : each)) }
}

// The provider is one of the first model's.
function optionsOf({ system, temperature, maxTokens, provider }: Settings, index: number): ChatOptions {
  return { system: system.trim(), temperature, maxTokens, provider: index === 0 ? provider : undefined }
}

// The messages of an earlier turn, sent as context: each model sees its own answers.
function messagesOf({ question, answers }: TurnState, model: string): readonly Message[] {
  const answer = answers.find(each => each.model === model)?.text ?? answers[0]?.text ?? ''
  if (answer === '') return []
  return [
    { role: 'user', content: question },
    { role: 'assistant', content: answer },
  ]
}
