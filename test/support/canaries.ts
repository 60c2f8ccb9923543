// Every success and failure between a caller, the gateway and an upstream, with canaries in every field that could
// leak: tests then search for them where they do not belong.
import type { Gateway } from './gateway.ts'
import { httpCall } from './http-call.ts'
import { rawRequest } from './raw-http.ts'
import { PROVIDER_KEY_CANARY } from './standard-config.ts'
import type { Upstream } from './upstream.ts'

export const PROMPT = 'prompt-canary-7f3a91'
export const ANSWER = 'answer-canary-c40b2e'
// What a provider says when it fails: operators read it on the row, and nobody else.
export const PROVIDER_WORDS = 'words-canary-1b7d02'
export const USER = 'user-canary-55d1f0'
export const UNKNOWN_KEY = `svc_live_${'Unkn0wnC4nary0'.padEnd(43, 'x')}`
// Meant to break a log line, to forge one, or to control a terminal.
const NASTY = 'nasty"}\n{"level":"error","msg":"forged"}\r\n\u001b[2J\u0000\u2028\ud800'

const messages = [{ role: 'user', content: PROMPT }]
const tools = [{ type: 'function', function: { name: 'f', description: PROMPT, parameters: { type: 'object' } } }]

export type Said = { readonly status: number; readonly text: string }
type Ask = (body: object, key?: string, headers?: Readonly<Record<string, string>>) => Promise<void>

// Returns all answers.
export async function exerciseFailures(gateway: Gateway, upstream: Upstream, keys: readonly string[]): Promise<Said[]> {
  const said: Said[] = []
  const ask: Ask = async (body, key = keys[0] ?? '', headers = {}) => {
    said.push(await gateway.chat({ messages, user: USER, ...body }, { key, headers }))
  }
  upstream.script({ words: [ANSWER, ' ', ANSWER] })
  for (const key of [...keys, ...keys]) for (const stream of [false, true]) await ask({ stream, tools }, key)
  await exerciseUpstreamFailures(upstream, ask)
  await exerciseCallerFailures(gateway, ask)
  said.push(...(await exerciseHttpFailures(gateway, keys[0] ?? '')))
  return said
}

async function exerciseUpstreamFailures(upstream: Upstream, ask: Ask): Promise<void> {
  const echo = `bad: ${PROMPT} ${PROVIDER_KEY_CANARY} at ${upstream.url}${NASTY}`
  for (const status of [400, 401, 403, 404, 429, 500, 503]) {
    // Its message for a 400 is for the caller, who may read its own prompt again.
    const error = {
      message: status === 400 ? echo : PROVIDER_WORDS + echo,
      code: status === 400 ? NASTY : PROMPT,
      type: ANSWER,
    }
    for (const stream of [false, true]) {
      upstream.next({ status, body: JSON.stringify({ error }) })
      await ask({ stream })
    }
  }
  upstream.next({ body: `<html>${ANSWER} ${PROMPT}` })
  await ask({})
  upstream.next(
    { rawFrames: [`data: ${ANSWER} is no JSON\n\n`] },
    { dieAfterChunks: 1 },
    {
      words: [ANSWER, ANSWER],
      errorFrameAfterChunks: 1,
      errorFrame: { error: { message: ANSWER + echo, code: NASTY } },
    },
    { setCookie: ANSWER, headers: { 'x-svc-provider': PROVIDER_KEY_CANARY } },
  )
  for (let i = 0; i < 4; i++) await ask({ stream: true })
}

async function exerciseCallerFailures(gateway: Gateway, ask: Ask): Promise<void> {
  const forged = '{"level":"error","msg":"x"}'
  await ask({ model: NASTY })
  await ask({ model: NASTY.repeat(100) })
  await ask({ temperature: PROMPT })
  await ask({ service_tier: PROMPT })
  await ask({ [NASTY]: PROMPT, [PROVIDER_KEY_CANARY]: 1 })
  await ask({ messages: [{ role: PROMPT, content: PROMPT }] })
  await ask({ messages: [{ role: 'user', content: PROMPT.repeat(60_000) }] })
  await ask({}, UNKNOWN_KEY)
  await ask({}, (await gateway.createKey({ credits: '0' })).secret)
  await ask({}, (await gateway.createKey({ scopes: ['models.read'] })).secret)
  await ask({}, undefined, { 'x-client-request-id': forged, 'content-type': `text/${PROMPT}` })
}

async function exerciseHttpFailures({ url, port, admin }: Gateway, key: string): Promise<Said[]> {
  const authorization = `Bearer ${key}`
  const headers = { authorization, 'content-type': 'application/json' }
  const half = `GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n`
  return [
    await httpCall(`${url}/v1/chat/completions`, { body: `{"messages": ${PROMPT}`, headers }),
    await httpCall(`${url}/v1/${PROMPT}?key=${key}`, { headers }),
    await httpCall(`${url}/v1/models/${encodeURIComponent(NASTY.toWellFormed())}`, { headers }),
    await httpCall(`${url}/v1/usage?after=${key}`, { headers }),
    await httpCall(`${url}/v1/models`, { headers: { authorization: [authorization, authorization] } }),
    await httpCall(`${url}/${key}`),
    await admin('POST', '/keys', { name: PROMPT, rpm_limit: key }),
    await admin('POST', '/keys', `{"name":${key}`),
    await admin('GET', '/keys', undefined, { authorization }),
    await admin('GET', `/usage?key_id=${key}&limit=x`),
    (await rawRequest(port, `${half}${NASTY}`, { expect: 1 })).answer,
    (await rawRequest(port, `${PROMPT} ${key}\r\n\r\n`, { expect: 1 })).answer,
  ]
}
