// A third-party upstream in addition to our own: @copilotkit/aimock with the important cases.
import { type Fixture, type JournalEntry, LLMock } from '@copilotkit/aimock'

export type Aimock = {
  readonly url: string
  readonly requests: JournalEntry[]
  [Symbol.asyncDispose](): Promise<void>
}

// Put one of these into the user's message to choose the case.
export const AIMOCK_CASES = {
  happy: 'aimock-happy',
  noUsage: 'aimock-no-usage',
  limited: 'aimock-limited',
  breaks: 'aimock-breaks',
} as const

export const AIMOCK_TEXT = 'The quick brown fox jumps over the lazy dog.'

export async function startAimock(fixtures: Fixture[] = aimockFixtures()): Promise<Aimock> {
  const mock = new LLMock({ port: 0, host: '127.0.0.1', chunkSize: 8, journalMaxEntries: 0 })
  mock.addFixtures(fixtures)
  await mock.start()
  return {
    url: `${mock.url}/v1`,
    get requests() {
      return mock.getRequests()
    },
    [Symbol.asyncDispose]: () => mock.stop(),
  }
}

function aimockFixtures(): Fixture[] {
  const usage = { prompt_tokens: 12, completion_tokens: 10, total_tokens: 22 }
  return [
    { match: { userMessage: AIMOCK_CASES.happy }, response: { content: AIMOCK_TEXT, usage } },
    {
      match: { userMessage: AIMOCK_CASES.noUsage },
      // aimock has no switch for this. It reads stream_options only after this function ran, so without them its stream
      // ends with no usage frame (its journal then lacks them too). Its JSON form always reports: here zeros.
      response: request => {
        delete request.stream_options
        return { content: AIMOCK_TEXT, usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } }
      },
    },
    {
      match: { userMessage: AIMOCK_CASES.limited },
      response: { error: { message: 'Rate limit reached', type: 'rate_limit_error' }, status: 429, retryAfter: 7 },
    },
    // Four chunks arrive, then the socket is destroyed: aimock discards the fifth with it, and without a latency it
    // would discard all. Its JSON form does not break.
    {
      match: { userMessage: AIMOCK_CASES.breaks },
      response: { content: AIMOCK_TEXT, usage },
      latency: 10,
      truncateAfterChunks: 5,
    },
  ]
}
