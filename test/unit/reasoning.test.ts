// Which models are known to reason, by their names, and which requests hide it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isKnownToReason, mayReasonUnseen, readReasoningPreference } from '../../src/domain/reasoning.ts'
import { parseKeepingDigits } from '../../src/lib/raw-json.ts'

const THINK = [
  ...['o1', 'o1-mini', 'o3', 'o3-2025-04-16', 'o3-mini', 'openai/o3-mini', 'openai/o4-mini-2025-04-16', 'o3-pro'],
  ...['gpt-5', 'gpt-5-mini', 'gpt-5.2-2025-12-11', 'openai/gpt-5-nano', 'gpt-oss-120b', 'openai.gpt-oss-20b-1:0'],
  ...['deepseek-reasoner', 'deepseek/deepseek-r1', 'deepseek-ai/DeepSeek-R1-0528', 'us.deepseek.r1-v1:0'],
  ...['deepseek-r1-distill-llama-70b', 'gemini-2.5-pro', 'google/gemini-2.5-flash-lite', 'gemini-3-pro-preview'],
  ...['gemini-3.1-flash', 'grok-4', 'grok-4-fast-reasoning', 'x-ai/grok-3-mini', 'grok-code-fast-1'],
  ...['qwen3-32b', 'Qwen/Qwen3-235B-A22B-Thinking-2507', 'qwq-32b', 'magistral-medium-latest', 'zai-org/GLM-4.6'],
  ...['moonshotai/kimi-k2-thinking', 'anthropic/claude-3.7-sonnet:thinking', 'sonar-reasoning-pro', 'MiniMax-M2'],
]
const SPEAK = [
  ...['gpt-4o', 'gpt-4.1', 'gpt-4o-2024-08-06', 'gpt-3.5-turbo', 'chatgpt-4o-latest', 'claude-sonnet-4-5', 'foo1'],
  ...['gemini-2.0-flash', 'deepseek-chat', 'llama3.1', 'grok-2', 'grok-4-fast-non-reasoning', 'demo/echo', 'cohere/r'],
  ...['qwen3-coder-480b', 'qwen3-30b-a3b-instruct-2507', 'mistral-large-latest', 'mo3', 'command-r', 'kimi-k2'],
]

test('models known to reason are recognised by their names, also with a date or a prefix', () => {
  for (const name of THINK) {
    assert.ok(isKnownToReason({ id: name, targets: [] }), name)
    assert.ok(isKnownToReason({ id: 'mine', targets: [{ model: 'other' }, { model: name }] }), name)
  }
  for (const name of SPEAK) assert.ok(!isKnownToReason({ id: name, targets: [{ model: name }] }), name)
})

test('a name of any length is matched quickly', () => {
  const started = performance.now()
  for (const part of ['a', '/', '.', 'r1', 'o1', 'qwen3', 'gpt-', '-']) {
    isKnownToReason({ id: part.repeat(100_000), targets: [] })
  }
  assert.ok(performance.now() - started < 1_000)
})

test('a request hides its reasoning, requests it, or leaves it open', () => {
  const speaks = { hiddenReasoning: false }
  const stated = { hiddenReasoning: false, hiddenReasoningStated: true }
  const of = (fields: Record<string, unknown>, model: object = speaks) =>
    mayReasonUnseen(readReasoningPreference(fields), model as typeof speaks)

  for (const hides of [
    { reasoning: { exclude: true } },
    { reasoning: { exclude: 'True' } },
    { reasoning: { exclude: 1 } },
    { include_reasoning: false },
    { include_reasoning: 'false' },
    { include_reasoning: 0 },
    { reasoning_format: 'hidden' },
  ]) {
    assert.ok(of(hides) && of(hides, stated), JSON.stringify(hides))
  }
  for (const asks of [
    { reasoning_effort: 'low' },
    { reasoning: { effort: 'high' } },
    { thinking: { type: 'enabled' } },
    parseKeepingDigits('{"reasoning":{"max_tokens":12345678901234567890}}') as Record<string, unknown>,
  ]) {
    assert.ok(of(asks) && !of(asks, stated), JSON.stringify(asks))
  }
  for (const plain of [
    {},
    { reasoning_effort: 'none' },
    { thinking: { type: 'disabled' } },
    { reasoning: null },
    { reasoning: { exclude: false } },
    { reasoning: { exclude: 0 } },
    { include_reasoning: true },
  ]) {
    assert.ok(!of(plain), JSON.stringify(plain))
    assert.ok(of(plain, { hiddenReasoning: true }))
  }
})
