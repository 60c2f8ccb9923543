// Connections to an upstream are shared by all callers. If one request gets two answers, the second must not be taken
// for the answer to the next request.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { startGateway } from '../../../support/gateway.ts'
import { standardConfig } from '../../../support/standard-config.ts'

// Names the request that it answers and, if instructed, answers twice.
const sockets = new Set<Socket>()
// How long this process was delayed between the two: any client takes a late answer for that of the next request.
const apartMs = new Map<string, number>()
const upstream = createServer(socket => {
  sockets.add(socket.setNoDelay().on('error', () => undefined))
  let text = ''
  socket.on('data', piece => {
    text += piece.toString('latin1')
    const whole = /x-request-id: (\S+)\r\ncontent-length: (\d+)\r\n\r\n/.exec(text)
    if (whole === null || text.length < whole.index + whole[0].length + Number(whole[2])) return
    const twice = text.includes('twice')
    text = ''
    const answer = answerTo(whole[1] as string)
    const began = performance.now()
    socket.write(answer)
    if (!twice) return
    socket.write(answer, () => {
      apartMs.set(whole[1] as string, performance.now() - began)
    })
  })
}).listen(0, '127.0.0.1')
await once(upstream, 'listening')
const gateway = await startGateway({
  config: standardConfig(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`),
})
after(async () => {
  const { ok } = await gateway.audit()
  await gateway[Symbol.asyncDispose]()
  for (const socket of sockets) socket.destroy()
  upstream.close()
  assert.ok(ok)
})

function answerTo(requestId: string): string {
  const body = JSON.stringify({
    id: 'up',
    choices: [{ index: 0, message: { role: 'assistant', content: requestId }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 5, completion_tokens: 1 },
  })
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

test('the second answer to a request never reaches another caller', async () => {
  const said = (content: string) => gateway.chat({ messages: [{ role: 'user', content }] })
  const wrong: string[] = []

  for (let round = 0; round < 200; round++) {
    const answers = await Promise.all([said('twice'), said('once'), said('once'), said('twice'), said('once')])
    for (const { body, headers } of answers) {
      const choice = (body as { choices?: { message: { content: string } }[] }).choices?.[0]
      const said = choice?.message.content
      if (said === undefined || said === headers['x-request-id']) continue
      const ms = apartMs.get(said) ?? 0
      if (ms < 1) wrong.push(`${said} for ${String(headers['x-request-id'])}, said twice within ${ms} ms`)
    }
  }

  assert.deepEqual(wrong, [])
})
