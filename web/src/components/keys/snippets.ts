// Ready-to-run snippets with a new key, for libraries and for coding agents.
import { shellQuote } from '../../../../src/lib/shell-quote.ts'

export type Snippets = Readonly<Record<keyof typeof SNIPPETS, string>>

// Their names, in the order of the tabs.
export const SNIPPETS = {
  curl: 'curl',
  python: 'Python',
  typescript: 'TypeScript',
  claude: 'Claude Code',
  codex: 'Codex',
} as const

export function snippets(of: { readonly baseUrl: string; readonly secret: string; readonly model: string }): Snippets {
  const { baseUrl, secret } = of
  const model = JSON.stringify(of.model)
  return {
    curl: `curl ${baseUrl}/chat/completions \\
  -H 'Authorization: Bearer ${secret}' \\
  -H 'Content-Type: application/json' \\
  -d ${shellQuote(`{"model":${model},"messages":[{"role":"user","content":"Hello"}]}`)}`,
    python: `from openai import OpenAI

client = OpenAI(base_url="${baseUrl}", api_key="${secret}")
response = client.chat.completions.create(
    model=${model},
    messages=[{"role": "user", "content": "Hello"}],
)
print(response.choices[0].message.content)`,
    typescript: `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${baseUrl}', apiKey: '${secret}' })
const response = await client.chat.completions.create({
  model: ${model},
  messages: [{ role: 'user', content: 'Hello' }],
})
console.log(response.choices[0].message.content)`,
    claude: `export ANTHROPIC_BASE_URL=${baseUrl.replace(/\/v1$/, '')}
export ANTHROPIC_AUTH_TOKEN=${secret}
claude --model ${shellQuote(of.model)}`,
    codex: `export TURNPIKE_KEY=${secret}
codex -c ${shellQuote(`model=${model}`)} -c model_provider=turnpike \\
  -c 'model_providers.turnpike={name="Turnpike",base_url="${baseUrl}",env_key="TURNPIKE_KEY",wire_api="responses"}'`,
  }
}
