// The messages of a chat: which roles and forms of content are accepted, and how errors in them are named.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { assertRefusal, type Code } from '../../../support/refusal.ts'
import { standardModel, standardProvider } from '../../../support/standard-config.ts'
import { startUpstream } from '../../../support/upstream.ts'

const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } }
const text = { type: 'text', text: 'hello' }
const user = { role: 'user', content: 'hello' }

const TAKEN: readonly object[] = [
  { role: 'system', content: 'be brief' },
  { role: 'developer', content: [text] },
  { role: 'user', content: '', name: 'alice' },
  { role: 'user', content: [text, text] },
  { role: 'assistant', content: 'hi' },
  { role: 'assistant', content: null, tool_calls: [call] },
  { role: 'assistant', tool_calls: [call, { id: 'c', type: 'custom', custom: { name: 'g', input: 'x' } }] },
  { role: 'assistant', content: null, function_call: { name: 'f', arguments: '' } },
  { role: 'assistant', content: null, refusal: 'no' },
  { role: 'assistant', content: 'hi', tool_calls: null, function_call: null, refusal: null, audio: null, name: null },
  { role: 'assistant', content: [text, { type: 'refusal', refusal: 'no' }] },
  { role: 'assistant', content: 'hi', reasoning_content: 'hm', reasoning: 'hm', reasoning_details: [{ text: 'hm' }] },
  { role: 'assistant', content: 'hi', prefix: true },
  { role: 'user', content: [{ ...text, cache_control: { type: 'ephemeral', ttl: '5m' } }] },
  { role: 'user', content: [{ ...text, prompt_cache_breakpoint: { mode: 'explicit' } }] },
  { role: 'tool', content: 'sunny', tool_call_id: 'call_1', name: 'weather' },
  { role: 'tool', content: 'sunny', tool_call_id: 'call_1' },
  { role: 'tool', content: [text], tool_call_id: 'call_1' },
  { role: 'function', content: 'sunny', name: 'f' },
]

const REFUSED: readonly (readonly [message: unknown, code: Code, path: string])[] = [
  ['hello', 'invalid_value', ''],
  [null, 'invalid_value', ''],
  [{ content: 'x' }, 'missing_field', '.role'],
  [{ role: 'wizard', content: 'x' }, 'invalid_value', '.role'],
  [{ role: 'constructor', content: 'x' }, 'invalid_value', '.role'],
  [{ role: 5, content: 'x' }, 'invalid_value', '.role'],
  [{ role: 'user' }, 'missing_field', '.content'],
  [{ role: 'user', content: null }, 'missing_field', '.content'],
  [{ role: 'user', content: 5 }, 'invalid_value', '.content'],
  [{ role: 'user', content: [] }, 'invalid_value', '.content'],
  [{ role: 'user', content: {} }, 'invalid_value', '.content'],
  [{ role: 'system', content: null }, 'missing_field', '.content'],
  [{ role: 'assistant' }, 'missing_field', '.content'],
  [{ role: 'assistant', content: null }, 'missing_field', '.content'],
  [{ role: 'assistant', content: null, tool_calls: [] }, 'invalid_value', '.tool_calls'],
  [{ role: 'assistant', tool_calls: [{ id: 'c', type: 'function' }] }, 'missing_field', '.tool_calls.0.function'],
  [{ role: 'assistant', tool_calls: [call, { ...call, id: 5 }] }, 'invalid_value', '.tool_calls.1.id'],
  [{ role: 'assistant', content: 'hi', audio: { id: 'audio_1' } }, 'unsupported_value', '.audio'],
  [{ role: 'user', content: 'hi', audio: { id: 'audio_1' } }, 'unsupported_value', '.audio'],
  [{ role: 'tool', content: 'hi', tool_call_id: 'c', audio: { id: 'audio_1' } }, 'unsupported_value', '.audio'],
  [{ role: 'user', content: 'hi', images: ['AAAA'] }, 'unsupported_value', '.images'],
  [{ role: 'system', content: 'hi', file_ids: ['file-1'] }, 'unsupported_value', '.file_ids'],
  [
    { role: 'user', content: [{ ...text, image_url: { url: 'http://169.254.169.254/' } }] },
    'unsupported_value',
    '.content.0.image_url',
  ],
  [
    { role: 'user', content: [{ ...text, cache_control: { type: 'x', url: 'y' } }] },
    'invalid_value',
    '.content.0.cache_control.url',
  ],
  [{ role: 'assistant', content: 'hi', reasoning_content: {} }, 'invalid_value', '.reasoning_content'],
  [{ role: 'tool', content: 'x' }, 'missing_field', '.tool_call_id'],
  [{ role: 'function', content: 'x' }, 'missing_field', '.name'],
  [{ role: 'user', content: ['x'] }, 'invalid_value', '.content.0'],
  [{ role: 'user', content: [text, { type: 'text' }] }, 'missing_field', '.content.1.text'],
  [{ role: 'user', content: [{ type: 'text', text: 5 }] }, 'invalid_value', '.content.0.text'],
  [{ role: 'user', content: [{ text: 'x' }] }, 'missing_field', '.content.0.type'],
  [{ role: 'user', content: [{ type: 'hologram' }] }, 'invalid_value', '.content.0.type'],
  [{ role: 'user', content: [{ type: 'image_url', image_url: 'x' }] }, 'invalid_value', '.content.0.image_url'],
  [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }, 'missing_field', '.content.0.image_url.url'],
]

// Errors inside an image, audio or a file, sent to a model that accepts all of them.
const MEDIA_REFUSED: readonly (readonly [part: object, code: Code, path: string])[] = [
  ...['http://example.com/a.png', 'file:///etc/passwd', 'ftp://x/y', '//x/y', 'a.png', ' https://x/y', ''].map(
    url => [{ type: 'image_url', image_url: { url } }, 'invalid_value', '.image_url.url'] as const,
  ),
  [
    { type: 'image_url', image_url: { ...image.image_url, file_id: 'file-1' } },
    'unsupported_value',
    '.image_url.file_id',
  ],
  [{ ...image, file_id: 'file-1' }, 'unsupported_value', '.file_id'],
  [{ ...image, file: { file_data: 'AAAA' } }, 'unsupported_value', '.file'],
  [{ ...image, url: 'https://x/y' }, 'unsupported_value', '.url'],
  ...['//169.254.169.254/x', 'a b', 'x.pdf', 'AA=A', '====', '\\\\host\\x', 'AAAA?'].map(
    data => [{ type: 'file', file: { file_data: data } }, 'invalid_value', '.file.file_data'] as const,
  ),
  [{ type: 'file', file: { file_id: 'file-1' } }, 'unsupported_value', '.file.file_id'],
  [{ type: 'file', file: { file_data: 'AAAA', file_id: 'file-1' } }, 'unsupported_value', '.file.file_id'],
  [{ type: 'file', file: { file_data: 'AAAA', file_url: 'https://x/y' } }, 'unsupported_value', '.file.file_url'],
  [{ type: 'file', file: { filename: 'a.pdf' } }, 'missing_field', '.file.file_data'],
  [{ type: 'file', file: { file_data: 'https://x/y.pdf' } }, 'invalid_value', '.file.file_data'],
  [{ type: 'file', file: { file_data: 5 } }, 'invalid_value', '.file.file_data'],
  [{ type: 'file', file: 'file-1' }, 'invalid_value', '.file'],
  [{ type: 'file' }, 'missing_field', '.file'],
  [{ type: 'input_audio', input_audio: { data: 'https://x/y', format: 'wav' } }, 'invalid_value', '.input_audio.data'],
  [{ type: 'input_audio', input_audio: { data: '', format: 'wav' } }, 'invalid_value', '.input_audio.data'],
  [{ type: 'input_audio', input_audio: { id: 'audio-1' } }, 'unsupported_value', '.input_audio.id'],
]

const MEDIA_TAKEN: readonly object[] = [
  image,
  { type: 'image_url', image_url: { url: 'HTTPS://example.com/a.png' } },
  { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
  { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' } },
  { type: 'file', file: { file_data: '+/aZ\r\n09==\r\n' } },
  { type: 'file', file: { file_data: 'A'.repeat(3_000_000) } },
  { type: 'file', file: { file_data: 'AAAA' }, cache_control: { type: 'ephemeral' } },
]

test('messages are accepted in every form that OpenAI documents, and errors name the path', async t => {
  await using upstream = await startUpstream()
  const seeing = standardModel({ id: 'test/eye', input_modalities: ['text', 'image'], media_max_tokens: 1000 })
  const kinds = ['text', 'image', 'audio', 'file']
  const open = standardModel({ id: 'test/open', input_modalities: kinds, media_max_tokens: 1000 })
  const providers = [standardProvider(upstream.url, { remote_media: true })]
  const config = standardConfig(upstream.url, { providers, models: [standardModel(), seeing, open] })
  await using gateway = await startGateway({ config })

  await t.test('every role and form reaches the upstream unchanged, without nulls', async () => {
    for (const message of TAKEN) {
      upstream.reset()
      const answer = await gateway.chat({ messages: [user, message] })

      assert.equal(answer.status, 200, `${JSON.stringify(message)}: ${answer.text}`)
      const [entry] = upstream.journal
      assert.deepEqual(entry?.body, { model: 'm1', messages: [user, withoutNulls(message)] })
    }
  })

  await t.test('unknown fields of messages and parts are dropped and named once', async () => {
    const part = { ...text, mood: 'good', annotations: null }
    const odd = { role: 'user', content: [part, part], mood: 'bad', status: null }

    const answer = await gateway.chat({ messages: [odd, { ...odd, id: 5 }], other: 1 })

    assert.equal(answer.status, 200)
    const plain = { role: 'user', content: [text, text] }
    assert.deepEqual(upstream.journal.at(-1)?.body, { model: 'm1', messages: [plain, plain] })
    assert.equal(answer.headers['x-svc-ignored-fields'], 'other, messages.mood, messages.content.mood, messages.id')
  })

  await t.test('an error in the second message is named with its index', async () => {
    for (const [message, code, path] of REFUSED) {
      assertRefusal(await gateway.chat({ messages: [user, message] }), code, `messages.1${path}`)
    }
  })

  await t.test('images are for models that accept them; any other kind of part is refused by its path', async () => {
    const messages = [user, { role: 'user', content: [text, image] }]
    const audio = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }

    assert.equal((await gateway.chat({ model: 'test/eye', messages })).status, 200)
    assertRefusal(await gateway.chat({ messages }), 'unsupported_value', 'messages.1.content.1.type')
    assertRefusal(
      await gateway.chat({ model: 'test/eye', messages: [{ role: 'user', content: [audio] }] }),
      'unsupported_value',
      'messages.0.content.0.type',
    )
  })

  await t.test('images, audio and files are sent inline; only an image can be a URL, and only https', async () => {
    for (const part of MEDIA_TAKEN) {
      upstream.reset()
      const answer = await gateway.chat({ model: 'test/open', messages: [{ role: 'user', content: [part] }] })

      assert.equal(answer.status, 200, `${JSON.stringify(part)}: ${answer.text}`)
      const [entry] = upstream.journal
      assert.deepEqual(entry?.body, { model: 'm1', messages: [{ role: 'user', content: [part] }] })
    }
    upstream.reset()
    for (const [part, code, path] of MEDIA_REFUSED) {
      const messages = [user, { role: 'user', content: [text, part] }]
      assertRefusal(await gateway.chat({ model: 'test/open', messages }), code, `messages.1.content.1${path}`)
    }
    assert.equal(upstream.journal.length, 0)
  })

  assert.ok((await gateway.audit()).ok)
})

// `content: null` with tool calls is OpenAI's notation for no content.
function withoutNulls(message: object): object {
  return Object.fromEntries(Object.entries(message).filter(([name, value]) => value !== null || name === 'content'))
}
