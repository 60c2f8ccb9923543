// Reads the few fields of a chat request that the scripted upstream needs, and counts its prompt the way it reports it.

export type ChatBody = {
  readonly model: string
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly outputCap: number
  readonly n: number
  readonly promptTokens: number
  // The path that was called decides the dialect of the answer.
  readonly dialect?: 'messages' | 'responses' | 'embeddings'
}

export function readChatBody(body: unknown): ChatBody {
  const fields = asRecord(body)
  return {
    model: typeof fields.model === 'string' ? fields.model : '',
    stream: fields.stream === true,
    includeUsage: asRecord(fields.stream_options).include_usage === true,
    outputCap:
      firstNumber(fields.max_completion_tokens, fields.max_tokens, fields.max_output_tokens) ??
      Number.POSITIVE_INFINITY,
    n: firstNumber(fields.n) ?? 1,
    promptTokens: countPromptTokens(body),
  }
}

// One token per word, and three around each message: no real tokenizer, but exact and easy to predict in a test.
function countPromptTokens(body: unknown): number {
  const { messages = inputOf(asRecord(body).input) } = asRecord(body)
  if (!Array.isArray(messages)) return 0
  return messages.reduce<number>((sum, message) => sum + 3 + countWords(textOf(asRecord(message).content)), 0)
}

function inputOf(input: unknown): unknown {
  const inputs = typeof input === 'string' ? [input] : input
  return Array.isArray(inputs) ? inputs.map(each => (typeof each === 'string' ? { content: each } : each)) : inputs
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map(part => asRecord(part).text ?? '').join(' ')
}

function countWords(text: string): number {
  return text.split(/\s+/).filter(word => word !== '').length
}

function firstNumber(...values: unknown[]): number | undefined {
  return values.find(value => typeof value === 'number')
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
