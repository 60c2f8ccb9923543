// Providers in the configuration file: presets and their overrides, the settings of each kind, and mistakes.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadConfig } from '../../src/config/config.ts'
import { NO_QUIRKS } from '../../src/domain/catalog.ts'
import { PRESET_NAMES, PRESETS } from '../../src/domain/presets.ts'

for (const name of PRESET_NAMES) {
  test(`the preset ${name} provides everything that the file does not`, () => {
    const preset = PRESETS[name]
    const address = preset.baseUrl === null ? ', base_url: "https://r.example"' : ''

    const provider = read(`{ id: p, kind: openai, preset: ${name}${address}, api_key: k }`)

    assert.equal(provider.baseUrl, preset.baseUrl ?? 'https://r.example')
    assert.deepEqual(provider.quirks, preset.quirks)
    assert.deepEqual(provider.passthrough, preset.passthrough)
    assert.equal(provider.maxTokensField, preset.maxTokensField)
  })
}

test('each key of the file overrides the preset', () => {
  const provider =
    read(`{ id: p, kind: openai, preset: mistral, base_url: "http://127.0.0.1:1/x/", auth_header: api-key,
    path: "/d/{model}", query: { v: "1" }, headers: { X-A: b }, leaves_out: [seed], stream_options: true,
    developer_role: true, cache_key_field: salt, remote_media: true, passthrough: [a], max_tokens_field: max_completion_tokens }`)

  assert.deepEqual(
    [provider.baseUrl, provider.quirks, provider.passthrough, provider.maxTokensField],
    [
      'http://127.0.0.1:1/x',
      {
        authHeader: 'api-key',
        path: '/d/{model}',
        query: { v: '1' },
        headers: { 'x-a': 'b' },
        leavesOut: ['seed'],
        streamOptions: true,
        developerRole: true,
        cacheKeyField: 'salt',
      },
      ['a'],
      'max_completion_tokens',
    ],
  )
})

test('without a preset a provider has no quirks', () => {
  assert.deepEqual(read('{ id: p, kind: openai, base_url: "http://127.0.0.1:1" }').quirks, NO_QUIRKS)
})

const APIS: readonly (readonly [provider: string, api: string | undefined, openaiTools: boolean | undefined])[] = [
  ['preset: openai', 'auto', true],
  ['preset: openai, base_url: "http://127.0.0.1:1/v1"', 'auto', true],
  ['preset: azure, base_url: "https://r.openai.azure.com/openai/v1"', 'auto', true],
  ['preset: azure-deployments, base_url: "https://r.openai.azure.com"', undefined, undefined],
  ['preset: openrouter', 'auto', undefined],
  ['preset: xai', 'auto', undefined],
  ['preset: groq', undefined, undefined],
  ['preset: openai, api: chat', undefined, undefined],
  ['preset: vllm, api: responses', 'responses', undefined],
  ['base_url: "https://api.openai.com/v1"', 'auto', true],
  ['base_url: "https://r.openai.azure.com/openai/deployments/d"', undefined, undefined],
  ['base_url: "https://llm.example.com/v1"', undefined, undefined],
]

for (const [fields, api, openaiTools] of APIS) {
  test(`${fields}: the API is ${api ?? 'chat'}`, () => {
    const provider = read(`{ id: p, kind: openai, api_key: k, ${fields} }`)

    assert.deepEqual([provider.api, provider.openaiTools], [api, openaiTools])
  })
}

const ADDRESSES: readonly (readonly [provider: string, baseUrl: string, settings: object])[] = [
  ['kind: anthropic', 'https://api.anthropic.com/v1', {}],
  ['kind: google', 'https://generativelanguage.googleapis.com/v1beta', {}],
  ['kind: cohere', 'https://api.cohere.com/v2', {}],
  ['kind: vertex', 'https://aiplatform.googleapis.com/v1/publishers/google', {}],
  [
    'kind: vertex, project: p-1, location: europe-west4',
    'https://europe-west4-aiplatform.googleapis.com/v1beta1/projects/p-1/locations/europe-west4/publishers/google',
    { project: 'p-1', location: 'europe-west4' },
  ],
  [
    'kind: anthropic, project: p-1, location: us-east5',
    'https://us-east5-aiplatform.googleapis.com/v1/projects/p-1/locations/us-east5/publishers/anthropic',
    { project: 'p-1', location: 'us-east5' },
  ],
  [
    'kind: vertex, project: p-1, location: global',
    'https://aiplatform.googleapis.com/v1beta1/projects/p-1/locations/global/publishers/google',
    { project: 'p-1', location: 'global' },
  ],
  [
    'kind: vertex, project: "example.com:p-1", location: us',
    'https://aiplatform.us.rep.googleapis.com/v1beta1/projects/example.com:p-1/locations/us/publishers/google',
    { project: 'example.com:p-1', location: 'us' },
  ],
  ['kind: bedrock, region: us-east-1', 'https://bedrock-runtime.us-east-1.amazonaws.com', { region: 'us-east-1' }],
  ['kind: anthropic, base_url: "http://127.0.0.1:9/v1/"', 'http://127.0.0.1:9/v1', {}],
]
for (const [provider, baseUrl, settings] of ADDRESSES) {
  test(`${provider}: has the URL ${baseUrl}`, () => {
    const found = read(`{ id: p, ${provider}, api_key: k }`)

    assert.deepEqual([found.baseUrl, found.settings], [baseUrl, settings])
  })
}

test('the JSON of a service account contains spaces, and is accepted unchanged', () => {
  const json = '{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----"}'

  assert.equal(read(`{ id: p, kind: vertex, api_key: '${json}' }`).credentials[0]?.secret, json)
})

const SLIPS: readonly (readonly [slip: string, provider: string, complaint: RegExp])[] = [
  [
    'an unknown preset',
    'kind: openai, preset: acme',
    /turnpike\.yaml:2:\d+: providers\[0\]\.preset: must be one of openai/,
  ],
  [
    'a preset of another kind',
    'kind: anthropic, preset: groq',
    /:2:\d+: providers\[0\]\.preset: does not apply to kind anthropic/,
  ],
  [
    'a quirk of another kind',
    'kind: google, developer_role: false',
    /:2:\d+: providers\[0\]\.developer_role: does not apply/,
  ],
  [
    'a setting of another kind',
    'kind: openai, region: x, base_url: "http://a"',
    /\.region: does not apply to kind openai/,
  ],
  ['a preset that needs a URL', 'kind: openai, preset: azure, api_key: k', /\.base_url: is missing/],
  ['a preset that needs a key', 'kind: openai, preset: groq', /\.api_key: is missing/],
  ['a kind that needs a key', 'kind: anthropic', /\.api_key: is missing/],
  ['a missing region', 'kind: bedrock, api_key: k', /\.region: is missing/],
  ['a missing location', 'kind: vertex, api_key: k, project: p', /\.location: is missing/],
  ['a token URL without Vertex', 'kind: anthropic, api_key: k, token_url: https://t.example', /\.project: is missing/],
  ['a missing project', 'kind: vertex, api_key: k, location: l', /\.project: is missing/],
  ['a region with a port', 'kind: bedrock, api_key: k, region: "a:b"', /\.region: must be/],
  ['a region with another host', 'kind: bedrock, api_key: k, region: "a.example"', /\.region: must be/],
  ['a location with a port', 'kind: vertex, api_key: k, project: p, location: "a:b"', /\.location: must be/],
  ['a project with path segments', 'kind: vertex, api_key: k, project: "a:..", location: b', /\.project: must be/],
  ['a secret for the demo', 'kind: demo, api_key: k', /\.api_key: does not apply to kind demo/],
  ['secrets for the demo', 'kind: demo, api_keys: [k]', /\.api_keys: does not apply to kind demo/],
  ['an invalid region', 'kind: bedrock, api_key: k, region: "a/b"', /\.region: must be/],
  [
    'a path with a query',
    'kind: openai, base_url: "http://a", path: "/a?b"',
    /\.path: must be a path that begins with a slash/,
  ],
  [
    'a path with another placeholder',
    'kind: openai, base_url: "http://a", path: "/{deployment}"',
    /\.path: must be a path/,
  ],
  ['a reserved header', 'kind: openai, base_url: "http://a", headers: { Host: b }', /\.headers\.Host: is written by/],
  [
    'a secret among the headers',
    'kind: cohere, api_key: k, headers: { authorization: b }',
    /\.authorization: is written/,
  ],
  ['an invalid header', 'kind: openai, base_url: "http://a", headers: { "a b": c }', /is not the name of a header/],
  ['a header of two lines', 'kind: openai, base_url: "http://a", headers: { a: "b\\nc" }', /control characters/],
  ['a query that is not a mapping', 'kind: openai, base_url: "http://a", query: [a]', /\.query: must be an object/],
]
for (const [slip, provider, complaint] of SLIPS) {
  test(`refused with line and key: ${slip}`, () => {
    assert.throws(() => read(`{ id: p, ${provider} }`), complaint)
  })
}

function read(provider: string) {
  const dir = mkdtempSync(join(tmpdir(), 'turnpike-provider-'))
  try {
    writeFileSync(join(dir, 'turnpike.yaml'), `providers:\n  - ${provider}\n`)
    return loadConfig({}, dir).catalog!.providers[0]!
  } finally {
    rmSync(dir, { recursive: true })
  }
}
