// Anthropic's counts in OpenAI's meaning.

// The parts of one prompt.
type Prompt = {
  readonly fresh: number | undefined
  readonly cached: number
  readonly written: number
  // Undefined: not told.
  readonly writtenFor1h: number | undefined
}

type Counts = { readonly prompt: Prompt; readonly output: number | undefined; readonly thinking: number }

const NO_COUNTS: Counts = {
  prompt: { fresh: undefined, cached: 0, written: 0, writtenFor1h: undefined },
  output: undefined,
  thinking: 0,
}

export function messageUsage(usage: unknown): object {
  return usageOf(countsOf(usage, NO_COUNTS))
}

// A stream reports its counts at its start and, cumulative, at its end. The highest are kept, for callers of every dialect.
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
  const prompt = promptOf(fields, before.prompt)
  return {
    // As a whole: an upstream that learns only at the end what was cached moves tokens from one part to another.
    prompt: sizeOf(prompt) < sizeOf(before.prompt) ? before.prompt : prompt,
    output: more(fields.output_tokens, before.output),
    thinking: more(record(fields.output_tokens_details).thinking_tokens, before.thinking) ?? 0,
  }
}

// A part that is not told again is as before.
function promptOf(fields: Readonly<Record<string, unknown>>, before: Prompt): Prompt {
  return {
    fresh: countOf(fields.input_tokens) ?? before.fresh,
    cached: countOf(fields.cache_read_input_tokens) ?? before.cached,
    written: countOf(fields.cache_creation_input_tokens) ?? before.written,
    writtenFor1h: countOf(record(fields.cache_creation).ephemeral_1h_input_tokens) ?? before.writtenFor1h,
  }
}

function sizeOf({ fresh, cached, written }: Prompt): number {
  return (fresh ?? 0) + cached + written
}

// The count at the start of a stream is of its first token; only a later one is of the answer.
function countsOutput(usage: unknown): boolean {
  return countOf(record(usage).output_tokens) !== undefined
}

// The prompt includes what was read from the cache and written to it.
function usageOf({ prompt, output, thinking }: Counts): object {
  const { fresh, cached, written, writtenFor1h } = prompt
  const size = fresh === undefined ? undefined : sizeOf(prompt)
  return {
    prompt_tokens: size,
    completion_tokens: output,
    total_tokens: (size ?? 0) + (output ?? 0),
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written, cache_write_1h_tokens: writtenFor1h },
    completion_tokens_details: { reasoning_tokens: thinking },
  }
}

function more(value: unknown, before: number | undefined): number | undefined {
  const count = countOf(value)
  return count === undefined ? before : Math.max(count, before ?? 0)
}

function countOf(value: unknown): number | undefined {
  return Number.isInteger(value) && (value as number) >= 0
    ? Math.min(value as number, Number.MAX_SAFE_INTEGER)
    : undefined
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}
