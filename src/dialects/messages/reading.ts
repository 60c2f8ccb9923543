// What is noted while a Messages request is read: what is left out, and what only a provider of the same dialect can serve.
import type { Chat, Media } from '../../domain/chat.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { Block, Tool, Turn } from './translate.ts'

// A body that the schema accepts.
export type Body = {
  readonly model: string
  readonly max_tokens?: number
  readonly messages: readonly Turn[]
  readonly stream?: boolean
  readonly system?: string | readonly Block[]
  readonly tools?: readonly Tool[]
  readonly tool_choice?: { readonly type: string; readonly name?: string; readonly disable_parallel_tool_use?: boolean }
  readonly stop_sequences?: readonly string[]
  readonly thinking?: Thinking
  readonly output_config?: { readonly effort?: string; readonly format?: { readonly schema: object } }
  readonly output_format?: { readonly schema: object }
  readonly context_management?: { readonly edits?: readonly { readonly type: string }[] }
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly [field: string]: unknown
}

type Thinking = { readonly type: string; readonly budget_tokens?: number; readonly display?: string }

export type Reading = {
  readonly leftOut: string[]
  readonly calls: Set<string>
  // Media that the translation does not have.
  readonly media: Media[]
  untranslatable: Chat['untranslatable']
}

const LEFT_OUT_NAMED_MAX = 32

export function cannotTranslate(reading: Reading, param: string, message: string): void {
  reading.untranslatable ??= { param, message }
}

export function leaveOut({ leftOut }: Reading, name: string): void {
  if (leftOut.length < LEFT_OUT_NAMED_MAX && !leftOut.includes(name)) leftOut.push(name)
}

export function misplaced(path: string, type: string): Refusal {
  return invalid(`${path}.type`, `${path}.type cannot be ${type.slice(0, 64)} here.`)
}

export function invalid(param: string, message: string): Refusal {
  return new Refusal('invalid_value', { param, message })
}
