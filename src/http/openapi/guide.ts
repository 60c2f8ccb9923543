// The introduction of the OpenAPI document in Markdown: keys, streams, limits, credits, headers and errors, which no schema can
// describe.
import { GRACE_MS, SECRETS_IN_GRACE_MAX } from '../../domain/key.ts'
import { REFUSALS, type RefusalCode } from '../../domain/refusal.ts'
import type { Brand, Header } from './document.ts'
import { QUICK_START } from './examples.ts'

export function guide(brand: Brand, headers: Readonly<Record<string, Header>>, codes: readonly RefusalCode[]): string {
  return [
    'Send OpenAI chat requests with one key. Each request is routed to a provider of its model and billed exactly, in credits. ' +
      '`/v1` may gain fields, endpoints and error codes. Breaking changes will be released as `/v2` and announced with `Deprecation` and `Sunset` headers at least 180 days ahead.',
    chapter('Quick start', [
      "Any OpenAI client works: set its base URL to this gateway's `/v1` and its key to yours. The samples read the key from `$KEY`.",
      ...QUICK_START.map(({ label, lang, source }) => `**${label}**\n\n\`\`\`${lang.toLowerCase()}\n${source}\`\`\``),
    ]),
    ...Object.entries(rules(brand)).map(([title, sentences]) =>
      chapter(title, [sentences.map(sentence => `- ${sentence}`).join('\n')]),
    ),
    chapter('Response headers', [
      'Every response under `/v1`, whatever its status, carries the request id, the cost and the rate-limit figures.',
      table(
        ['Header', 'Meaning', 'Example'],
        Object.entries(headers).map(([name, { description, example }]) => [
          `\`${name}\``,
          description,
          example === undefined ? '' : `\`${example}\``,
        ]),
      ),
    ]),
    chapter('Errors', [
      'All errors have one shape, which OpenAI SDKs turn into their typed errors. Refusals are checked in the order of this table: the first that applies is the one you get.',
      table(
        ['Code', 'Status', 'Type', 'Meaning'],
        codes.map(code => {
          const { status, type, message } = REFUSALS[code]
          return [`\`${code}\``, String(status), `\`${type}\``, message]
        }),
      ),
    ]),
  ].join('\n\n')
}

function rules({ keyPrefix, headerPrefix }: Brand): Readonly<Record<string, readonly string[]>> {
  return {
    Keys: [
      `Send exactly one \`Authorization: Bearer ${keyPrefix}…\` header. Cookies are never read under \`/v1\`.`,
      'Chats need the scope `chat.completions`, embeddings need `embeddings`, models need `models.read`; introspection and usage accept any valid key.',
      'A secret is shown once, when it is created. Only its SHA-256, its prefix and its last four characters are stored.',
      `Rotation creates a new secret. The old one works for ${GRACE_MS / 60_000} more minutes, and its responses carry \`Deprecation\` and \`Sunset\`. At most ${SECRETS_IN_GRACE_MAX} old secrets are in their grace period at the same time; an operator can end it at any time.`,
      'Revoking is final and immediate: no new request starts on any node. Running streams finish, unless the operator ends them too.',
    ],
    Streaming: [
      'With `stream: true` the response is a series of `data: {chunk}` events that ends with `data: [DONE]`.',
      'Status and headers are sent with the first content, or after 15 seconds. If a provider fails before the first content, the next one is tried; failures before the headers are plain HTTP errors.',
      'After 10 seconds without content the comment `: keep-alive` is sent, which every SSE client skips.',
      'If a provider fails after content was sent, one chunk has `error` and `finish_reason: "error"`, and `[DONE]` follows.',
      `The cost is sent as the HTTP trailer \`${headerPrefix}Cost\`, which many clients and proxies drop. With \`stream_options.include_usage\` it is in the last chunk, and after \`[DONE]\` \`GET /v1/usage/{request_id}\` is exact.`,
      'A client that disconnects early pays for the prompt and for what was produced until then.',
    ],
    Limits: [
      'Each key has a number of requests per minute (a token bucket), per UTC day, and in flight. `GET /v1/key/introspect` shows all three.',
      'A request refused by the daily limit, by concurrency or for credits does not count; one refused for its content does.',
      'Bodies are limited to 16 MiB and a nesting of 32, headers to 100 and 16 KiB in total.',
      'Retry a 429, a 503 or a `credits_held` after `Retry-After`. OpenAI SDKs do so by themselves.',
    ],
    Credits: [
      'Prices are credits per token, as `GET /v1/models` lists them. The cost is tokens times price, rounded up once to a billionth of a credit. Amounts are decimal strings everywhere, except `usage.cost`, which is a JSON number.',
      'Before a provider is called, the highest possible cost of the request is held; afterwards the actual cost is charged and the rest is released.',
      `Without \`max_tokens\`, a low balance caps the length of the answer instead of refusing it, and \`${headerPrefix}Output-Cap\` reports the cap.`,
      'A request that fails before anything was produced costs nothing.',
    ],
  }
}

function chapter(title: string, parts: readonly string[]): string {
  return [`# ${title}`, ...parts].join('\n\n')
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
