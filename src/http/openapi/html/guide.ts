// The short texts of the page at /docs that no schema can tell: keys, streams, limits, credits.
import { GRACE_MS, SECRETS_IN_GRACE_MAX } from '../../../domain/key.ts'
import type { Brand } from '../document.ts'
import { QUICK_START } from '../snippets.ts'
import { codeBlock, html, type Markup, prose } from './html.ts'

export type Chapter = { readonly id: string; readonly title: string; readonly body: Markup }

export function guide({ keyPrefix, headerPrefix }: Brand): readonly Chapter[] {
  return [
    {
      id: 'quick-start',
      title: 'Quick start',
      body: html`<p>${prose("Any OpenAI client works: set its base address to this gateway's `/v1` and its key to yours. Put the key into `$KEY` and use your own address.")}</p>
${tabs()}`,
    },
    {
      id: 'keys',
      title: 'Keys',
      body: list([
        `Send \`Authorization: Bearer ${keyPrefix}…\`, exactly once. Cookies are never read under \`/v1\`.`,
        'The scope `chat.completions` opens chats and `models.read` the models; introspection and usage take any valid key.',
        'A secret is shown once, when it is made. Only its SHA-256 is kept, with its prefix and last four characters.',
        `Rotation makes a new secret; the old one works for ${GRACE_MS / 60_000} more minutes and its answers carry \`Deprecation\` and \`Sunset\`. At most ${SECRETS_IN_GRACE_MAX} old secrets are in grace at once, and an operator may end them at any time.`,
        'Revoking is final and at once: nothing new starts on any node. Streams that run finish, unless the operator ends them too.',
      ]),
    },
    {
      id: 'streaming',
      title: 'Streaming',
      body: list([
        'With `stream: true` the answer is a series of `data: {chunk}` events and ends with `data: [DONE]`.',
        'Status and headers leave with the first content, or after 15 seconds. Until content came, a provider that fails is followed by the next; until the headers left, failures are plain HTTP errors.',
        'After 10 seconds of silence comes the comment `: keep-alive`, which every SSE client skips.',
        'A provider that breaks off after content was sent gives one chunk with `error` and `finish_reason: "error"`, then `[DONE]`.',
        `The cost comes as the HTTP trailer \`${headerPrefix}Cost\`, which many clients and proxies lose. With \`stream_options.include_usage\` it is in the last chunk, and after \`[DONE]\` \`GET /v1/usage/{request_id}\` is exact.`,
        'Who leaves early pays for the prompt and for what had been produced.',
      ]),
    },
    {
      id: 'limits',
      title: 'Limits',
      body: list([
        'Per key: requests per minute (a token bucket), requests per UTC day, and requests in flight. `GET /v1/key/introspect` shows all three.',
        'A request refused for its daily limit, for concurrency or for credits gives its token back; one refused for its content counts.',
        'Bodies: 16 MiB, nested at most 32 deep. Headers: 100, in 16 KiB.',
        'Repeat a 429, a 503 or a `credits_held` after `Retry-After`. OpenAI SDKs do so by themselves.',
      ]),
    },
    {
      id: 'credits',
      title: 'Credits',
      body: list([
        'Prices are credits per token, as `GET /v1/models` lists them; cost is tokens times price, rounded up once to a billionth of a credit. Money is a decimal string everywhere; `usage.cost` alone is a JSON number.',
        'Before a provider is called, the most that the request can cost is held; afterwards what it did cost is booked and the rest released.',
        `Without \`max_tokens\`, a low balance caps the answer instead of refusing it, and \`${headerPrefix}Output-Cap\` says so.`,
        'What failed before anything was produced costs nothing.',
      ]),
    },
  ]
}

// Tabs without a script: the chosen radio shows its panel.
function tabs(): Markup {
  const inputs = QUICK_START.map(({ language }, i) => {
    const input =
      i === 0
        ? html`<input type="radio" name="tab" id="tab-${i}" checked>`
        : html`<input type="radio" name="tab" id="tab-${i}">`
    return html`${input}<label for="tab-${i}">${language}</label>\n`
  })
  return html`<div class="tabs">
${inputs}${QUICK_START.map(({ code, language }) => html`<div class="panel">${codeBlock(code, language)}</div>\n`)}</div>`
}

function list(sentences: readonly string[]): Markup {
  return html`<ul>
${sentences.map(sentence => html`<li>${prose(sentence)}</li>\n`)}</ul>`
}
