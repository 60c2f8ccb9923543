// Ready-to-run snippets with a new key for curl, Python and TypeScript.

export type Snippets = { readonly curl: string; readonly python: string; readonly typescript: string }

export function snippets(of: { readonly baseUrl: string; readonly secret: string; readonly model: string }): Snippets {
  const { baseUrl, secret } = of
  const model = JSON.stringify(of.model)
  return {
    curl: `curl ${baseUrl}/chat/completions \\
  -H 'Authorization: Bearer ${secret}' \\
  -H 'Content-Type: application/json' \\
  -d '${shellQuoted(`{"model":${model},"messages":[{"role":"user","content":"Hello"}]}`)}'`,
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
  }
}

function shellQuoted(text: string): string {
  return text.replaceAll("'", "'\\''")
}
