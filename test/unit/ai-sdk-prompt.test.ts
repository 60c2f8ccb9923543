// The arguments of earlier tool calls are text for the gateway and JSON for some packages: they are parsed only within
// bounds.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ModelSetup, sdkModel } from '../../src/upstream/ai-sdk/models.ts'
import { promptOf } from '../../src/upstream/ai-sdk/prompt.ts'

// Each takes tens of milliseconds, and took seconds.
const PACKAGE_CPU_MS_MAX = 500
const SDK_KINDS = ['anthropic', 'google', 'vertex', 'bedrock', 'cohere'] as const

const MANY = `[${Array.from({ length: 20_000 }, (_, i) => `{"k${i}":0}`).join()}]`

test('arguments are parsed, and stay text if they are not JSON', () => {
  assert.deepEqual(inputsOf(['{"a":[1,2]}', '', 'not JSON']), [{ a: [1, 2] }, {}, 'not JSON'])
})

test('arguments that are nested too deeply, or have more members than a prompt may, are the text of one argument', () => {
  const deep = '['.repeat(100_000)
  const inputs = inputsOf([deep, MANY, MANY, MANY, '{"a":1}'])

  assert.deepEqual(inputs[0], { input: deep })
  assert.deepEqual(inputs.slice(1, 4).map(Array.isArray), [true, true, false])
  assert.deepEqual(inputs[3], { input: MANY })
  assert.deepEqual(inputs[4], { a: 1 })
})

test('no package parses arguments that are nested too deeply', async () => {
  const text = '['.repeat(1_000_000) + ']'.repeat(1_000_000)
  const tool_calls = [{ id: 'c', type: 'function', function: { name: 'f', arguments: text } }]
  const tools = [{ type: 'function' as const, name: 'f', inputSchema: { type: 'object' as const } }]
  const slow: string[] = []
  for (const kind of SDK_KINDS) {
    const bodies: string[] = []
    const send = async (_: unknown, init?: { readonly body?: unknown }) => {
      bodies.push(Buffer.from(init?.body as string).toString())
      throw new Error('not sent')
    }
    const provider = { kind, baseUrl: 'https://provider.example', settings: { region: 'r' } }
    const setup = { provider, credential: { id: 'c', secret: 'secret' }, model: 'm', send } as unknown as ModelSetup
    const model = await sdkModel(kind, setup)
    const prompt = promptOf(
      [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: null, tool_calls },
        { role: 'tool', tool_call_id: 'c', content: text },
      ],
      kind,
    )

    const before = process.cpuUsage()
    await assert.rejects(async () => model.doGenerate({ prompt, tools }), /not sent/)
    const { user, system } = process.cpuUsage(before)

    if (user + system > PACKAGE_CPU_MS_MAX * 1000) slow.push(`${kind}: ${(user + system) / 1000} ms`)
    assert.match(bodies[0] ?? '', /\[{1000}/, kind)
  }
  assert.deepEqual(slow, [])
})

function inputsOf(given: readonly string[]): unknown[] {
  const tool_calls = given.map((text, i) => ({
    id: String(i),
    type: 'function',
    function: { name: 'f', arguments: text },
  }))
  const [message] = promptOf([{ role: 'assistant', content: null, tool_calls }], 'anthropic')
  return (message!.content as { input: unknown }[]).map(({ input }) => input)
}
