// Reads the answers of one keep-alive connection and checks each: expected status, complete body, no missing frame.

export type Form = 'json' | 'stream'
export type Dialect = 'chat' | 'messages' | 'responses' | 'embeddings'

// A frame for each of the upstream's fifty and the last one; more are allowed, fewer are not.
const FRAMES_MIN = 51
// What a whole answer contains, and the last frame of a stream.
const WHOLE: Readonly<Record<Dialect, string>> = {
  chat: '"choices":[{',
  messages: '"stop_reason":"end_turn"',
  responses: '"status":"completed"',
  embeddings: '"object":"embedding"',
}
const LAST: Readonly<Record<Dialect, string>> = {
  chat: 'data: [DONE]\n\n',
  messages: 'data: {"type":"message_stop"}\n\n',
  responses: 'event: response.completed\n',
  embeddings: '',
}
const FRAME_START = Buffer.from('data: ')
const BLANK_LINE = '\r\n\r\n'

// Consumes bytes; reports each complete answer, with the reason if it is not a good one.
export function answerReader(
  form: Form,
  dialect: Dialect,
  onAnswer: (fault: string | undefined) => void,
): (bytes: Buffer) => void {
  let pending: Buffer = Buffer.alloc(0)
  let body: Buffer[] = []
  let state: 'head' | 'sized' | 'chunk-size' | 'chunk-data' | 'trailer' = 'head'
  let status = 0
  let missing = 0

  return bytes => {
    pending = pending.length === 0 ? bytes : Buffer.concat([pending, bytes])
    while (step());
  }

  // Consumes one piece of the pending bytes; false when more are needed.
  function step(): boolean {
    if (state === 'head') return readHead()
    if (state === 'chunk-size') return readChunkSize()
    if (state === 'trailer') return readTrailer()
    return readBody()
  }

  function readHead(): boolean {
    const end = pending.indexOf(BLANK_LINE)
    if (end < 0) return false
    const head = pending.toString('latin1', 0, end)
    pending = pending.subarray(end + 4)
    status = Number(head.slice(9, 12))
    missing = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
    state = /\r\ntransfer-encoding: *chunked/i.test(head) ? 'chunk-size' : 'sized'
    return true
  }

  function readChunkSize(): boolean {
    const end = pending.indexOf('\r\n')
    if (end < 0) return false
    const size = Number.parseInt(pending.toString('latin1', 0, end), 16)
    // The closing line stays for the trailer, so that an empty trailer and a full one end alike.
    pending = pending.subarray(size === 0 ? end : end + 2)
    missing = size + 2
    state = size === 0 ? 'trailer' : 'chunk-data'
    return true
  }

  function readBody(): boolean {
    if (pending.length < missing) return false
    body.push(pending.subarray(0, state === 'sized' ? missing : missing - 2))
    pending = pending.subarray(missing)
    if (state === 'sized') finish()
    else state = 'chunk-size'
    return true
  }

  function readTrailer(): boolean {
    const end = pending.indexOf(BLANK_LINE)
    if (end < 0) return false
    pending = pending.subarray(end + 4)
    finish()
    return true
  }

  function finish(): void {
    const whole = body.length === 1 ? body[0]! : Buffer.concat(body)
    body = []
    state = 'head'
    onAnswer(status === 200 ? faultOf(form, dialect, whole) : `status ${status}: ${whole.toString().slice(0, 300)}`)
  }
}

function faultOf(form: Form, dialect: Dialect, body: Buffer): string | undefined {
  if (form === 'json') {
    const whole = body.includes(WHOLE[dialect]) && body.includes('"usage":{') && body.at(-1) === 0x7d
    return whole ? undefined : `not a whole completion: ${body.toString().slice(0, 300)}`
  }
  // The last frame of a response has all of it.
  const last = dialect === 'responses' ? body : body.subarray(-LAST[dialect].length)
  if (!last.includes(LAST[dialect])) return `not a whole stream: ${body.toString().slice(-300)}`
  let frames = 0
  for (let at = body.indexOf(FRAME_START); at >= 0; at = body.indexOf(FRAME_START, at + 6)) frames++
  return frames >= FRAMES_MIN ? undefined : `only ${frames} frames of ${FRAMES_MIN}`
}
