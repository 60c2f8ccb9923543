// Instructions to the scripted upstream for one request: plain data, every field optional; the empty plan answers like
// a well-behaved provider.

export type Usage = 'normal' | 'none' | 'perChunk' | 'withFinish' | Readonly<Record<string, unknown>>

export type ToolCall = { readonly id?: string; readonly name: string; readonly arguments: string }

export type Plan = {
  // Head of the answer.
  readonly status?: number
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly extraHeaders?: Readonly<Record<string, string | string[]>>
  readonly contentType?: string
  readonly setCookie?: string | string[]
  readonly redirectTo?: string

  // Time: before the headers, between headers and first byte, before each content chunk after the first.
  readonly delayMs?: number
  readonly firstByteDelayMs?: number
  readonly chunkDelayMs?: number

  // The output. Each entry of `words` is one chunk and one token; `chunks` makes that many instead, lazily, of
  // `chunkBytes` each. Without either the default words are cut at the caller's max_tokens; given ones never are.
  readonly words?: readonly string[]
  readonly chunks?: number
  readonly chunkBytes?: number
  readonly reasoning?: readonly string[]
  readonly toolCalls?: readonly ToolCall[]
  readonly n?: number
  readonly finishReason?: string | null
  readonly roleInFirstDelta?: boolean

  // The reported usage. An object is sent unchanged; `usageText` is JSON text that no object can represent, such as
  // 1e999.
  readonly usage?: Usage
  readonly usageText?: string
  readonly promptTokens?: number

  // Instead of a generated answer: an exact body, or exact stream pieces, each in its own write.
  readonly body?: string | Buffer
  readonly rawFrames?: readonly (string | Buffer)[]
  readonly gzipBomb?: number

  // Framing. `endlessLine` is a number of bytes, or true for an endless one.
  readonly done?: 'normal' | 'missing' | 'twice' | 'early'
  readonly eol?: '\n' | '\r\n' | '\r'
  readonly bom?: boolean
  readonly comments?: boolean | string
  readonly emptyLines?: number
  readonly garbageFrame?: string
  readonly endlessLine?: number | true
  readonly oneByteAtATime?: boolean

  // Failure. Dying closes the socket in the middle of the answer, by FIN or, with `dieBy: 'reset'`, by RST.
  readonly resetBeforeHeaders?: boolean
  readonly dieAfterBytes?: number
  readonly dieAfterChunks?: number
  readonly dieBy?: 'close' | 'reset'
  readonly stallAfterChunks?: number
  readonly errorFrameAfterChunks?: number
  readonly errorFrame?: unknown
  readonly neverEnd?: boolean
  readonly closeAfterMs?: number
}

// Typical upstream behaviour.
export const CALM: readonly Plan[] = [{}, { chunkDelayMs: 4 }, { delayMs: 25 }, { status: 500 }]
// These need an estimate; a new process loads the tokenizer for it, so they are rare.
export const ROUGH: readonly Plan[] = [...CALM, { usage: 'none', chunkDelayMs: 2 }, { dieAfterChunks: 2 }]
