// The reasoning of a provider that does not speak Responses, inside `encrypted_content`: signatures and details that it expects
// back come with the next request, as they were.
import { countMembers } from '../../lib/json-guard.ts'

export type CarriedReasoning = {
  // Fields of the assistant's message.
  readonly message?: Readonly<Record<string, unknown>>
  // Fields of its tool calls, by their id.
  readonly calls?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

// No provider's own content begins with it.
const PREFIX = 'turnpike.1.'

export function carry(reasoning: CarriedReasoning): string {
  return PREFIX + Buffer.from(JSON.stringify(reasoning)).toString('base64url')
}

export function isCarried(content: string): boolean {
  return content.startsWith(PREFIX)
}

// How many members all carried reasoning of a request may still have: inside base64, the guard of the body did not count them.
export type CarriedAllowance = { members: number }

export function carriedAllowance(): CarriedAllowance {
  return { members: CARRIED_MEMBERS_MAX }
}

// Undefined for what was changed on the way: only the fields that a chat may have are read, and they are checked like a chat's.
export function carried(content: string, allowance: CarriedAllowance): CarriedReasoning | undefined {
  try {
    const text = Buffer.from(content.slice(PREFIX.length), 'base64url').toString()
    const members = countMembers(text, { depthMax: CARRIED_DEPTH_MAX, membersMax: allowance.members })
    if (typeof members !== 'number') return undefined
    allowance.members -= members
    const parsed: unknown = JSON.parse(text)
    if (!isRecord(parsed)) return undefined
    const { message, calls } = parsed
    return {
      ...(isRecord(message) ? { message: only(message, REASONING) } : {}),
      ...(isRecord(calls) ? { calls: Object.fromEntries(Object.entries(calls).flatMap(ofCall)) } : {}),
    }
  } catch {
    return undefined
  }
}

// As for a request's own body.
const CARRIED_DEPTH_MAX = 32
const CARRIED_MEMBERS_MAX = 50_000

const REASONING: readonly string[] = ['reasoning', 'reasoning_content', 'reasoning_details']
// What a tool call has by itself.
const OWN: ReadonlySet<string> = new Set(['id', 'type', 'index', 'function', 'custom'])

function ofCall([id, fields]: [string, unknown]): [string, Record<string, unknown>][] {
  return isRecord(fields) ? [[id, extrasOf(fields)]] : []
}

// The fields of a tool call that only its provider knows.
export function extrasOf(call: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(call).filter(([name]) => !OWN.has(name)))
}

function only(record: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.flatMap(name => (record[name] === undefined ? [] : [[name, record[name]]])))
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
