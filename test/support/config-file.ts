// A valid configuration file, and a folder that has it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const GOOD = `providers:
  - { id: openai, kind: openai, base_url: "https://api.openai.com/v1/", api_key: "\${OPENAI_API_KEY}" }
  - { id: local,  kind: openai, base_url: "http://127.0.0.1:11434/v1", passthrough: [keep_alive], timeouts: { connect: 0.5 } }
models:
  - id: gpt-4o-mini
    aliases: [mini]
    context_length: 128000
    max_output_tokens: 16384
    pricing: { prompt: "0.00000015", completion: 0.0000006, input_cache_read: 0.000000075 }
    targets:
      - { provider: openai, model: gpt-4o-mini, priority: 0, weight: 2 }
      - { provider: local,  model: llama3.1,    priority: 1 }
defaults: { rpm_limit: 60, daily_limit: null, credit_limit: 12.5 }
brand: { key_prefix: "acme_", header_prefix: "X-Acme-" }
drain_delay: 0.25
`
export const ENV = { OPENAI_API_KEY: 'sk-canary' }

export function openPlace(yaml?: string) {
  const dir = mkdtempSync(join(tmpdir(), 'turnpike-config-'))
  if (yaml !== undefined) writeFileSync(join(dir, 'turnpike.yaml'), yaml)
  return { dir, [Symbol.dispose]: () => rmSync(dir, { recursive: true }) }
}
