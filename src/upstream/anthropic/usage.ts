// Anthropic's counts in OpenAI's meaning.

type Counts = {
  readonly fresh: number | undefined
  readonly cached: number
  readonly written: number
  readonly writtenFor1h: number
  readonly output: number | undefined
  readonly thinking: number
}

const NO_COUNTS: Counts = {
  fresh: undefined,
  cached: 0,
  written: 0,
  writtenFor1h: 0,
  output: undefined,
  thinking: 0,
}

export function messageUsage(usage: unknown): object {
  return usageOf(countsOf(usage, NO_COUNTS))
}

// A stream reports its counts at its start and, cumulative, at its end. The highest of each is kept, for callers of every dialect.
export function streamUsage(): { start(usage: unknown): object; end(usage: unknown): object } {
  let counts = NO_COUNTS
  let isCounted = false
  return {
    start(usage) {
      counts = countsOf(usage, counts)
      return usageOf(counts)
    },
    end(usage) {
      counts = countsOf(usage, counts)
      isCounted ||= countsOutput(usage)
      return usageOf(isCounted ? counts : { ...counts, output: undefined })
    },
  }
}

function countsOf(usage: unknown, before: Counts): Counts {
  const fields = record(usage)
  return {
    fresh: more(fields.input_tokens, before.fresh),
    cached: more(fields.cache_read_input_tokens, before.cached) ?? 0,
    written: more(fields.cache_creation_input_tokens, before.written) ?? 0,
    writtenFor1h: more(record(fields.cache_creation).ephemeral_1h_input_tokens, before.writtenFor1h) ?? 0,
    output: more(fields.output_tokens, before.output),
    thinking: more(record(fields.output_tokens_details).thinking_tokens, before.thinking) ?? 0,
  }
}

// The count at the start of a stream is of its first token; only a later one is of the answer.
function countsOutput(usage: unknown): boolean {
  return more(record(usage).output_tokens, undefined) !== undefined
}

// The prompt includes what was read from the cache and written to it.
function usageOf({ fresh, cached, written, writtenFor1h, output, thinking }: Counts): object {
  const prompt = fresh === undefined ? undefined : fresh + cached + written
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: (prompt ?? 0) + (output ?? 0),
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written, cache_write_1h_tokens: writtenFor1h },
    completion_tokens_details: { reasoning_tokens: thinking },
  }
}

function more(value: unknown, before: number | undefined): number | undefined {
  if (!Number.isInteger(value) || (value as number) < 0) return before
  return Math.min(Math.max(value as number, before ?? 0), Number.MAX_SAFE_INTEGER)
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}
