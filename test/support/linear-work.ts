// Work that must take linear time, each on far more input than any caller sends: patterns on rows of their own
// characters, and the loops that read, split or check untrusted text. A worker thread runs it, so that a test can end a
// hanging one.

import { isMainThread, parentPort } from 'node:worker_threads'
import { parseChat } from '../../src/chat/parse-request.ts'
import { fieldPath } from '../../src/chat/request-errors.ts'
import { parseCredits } from '../../src/domain/credits.ts'
import { promptTexts, surelyExceeds } from '../../src/domain/prompt.ts'
import { readTagsHeader } from '../../src/domain/tags.ts'
import { csvLine } from '../../src/http/csv.ts'
import { clientAddress, parseCidrs } from '../../src/lib/ip-address.ts'
import { guardText } from '../../src/lib/json-guard.ts'
import { withoutQuotations } from '../../src/lib/quotations.ts'
import { starPattern } from '../../src/lib/star-pattern.ts'
import { withoutTrailing } from '../../src/lib/text.ts'
import { countWords, wordEnds } from '../../src/upstream/demo.ts'
import { charactersOf, everyPattern } from './patterns.ts'

export type Said =
  | { readonly kind: 'begins'; readonly name: string; readonly cpuMsMax: number }
  | { readonly kind: 'took'; readonly cpuMs: number }

type Work = {
  readonly name: string
  readonly texts: readonly string[]
  readonly read: (text: string) => unknown
  readonly cpuMsMax: number
}

const CPU_MS_MAX = 100
// Four times as long, and serialised too.
const BODY_CPU_MS_MAX = 400

const MIB = 2 ** 20
const ROW = 4 * MIB
const BODY = 16 * MIB
const BAD = ['', '\0']
const CHARACTERS = [' ', '\n', 'a', '0', ',', '/', '"', '漢']
const BODY_CHARACTERS = [' ', '\n', 'a', '漢']

// Character by character, so that its long rows are made once for all.
function* everyWork(): Generator<Work> {
  const patterns = everyPattern().map(({ where, source, flags }) => ({
    name: `${where} /${source}/`,
    characters: new Set(charactersOf(source)),
    // Every start position is tried in one search, whether it continues after its first match or not.
    pattern: new RegExp(source, flags.replace(/[gy]/g, '')),
  }))
  for (const character of new Set([...CHARACTERS, ...patterns.flatMap(({ characters }) => [...characters])])) {
    const on = ` on ${JSON.stringify(character)}`
    const texts = rowsOf(character, ROW)
    for (const { name, characters, pattern } of patterns) {
      if (characters.has(character))
        yield { name: name + on, texts, read: text => pattern.exec(text), cpuMsMax: CPU_MS_MAX }
    }
    if (!CHARACTERS.includes(character)) continue
    for (const [name, read] of Object.entries(READERS)) yield { name: name + on, texts, read, cpuMsMax: CPU_MS_MAX }
    if (!BODY_CHARACTERS.includes(character)) continue
    const long = rowsOf(character, BODY / (JSON.stringify(character).length - 2))
    for (const [name, read] of Object.entries(BODY_READERS))
      yield { name: name + on, texts: long, read, cpuMsMax: BODY_CPU_MS_MAX }
  }
}

// A row of the character with one bad one at the end, flattened before the measurement.
function rowsOf(character: string, bytes: number): readonly string[] {
  const row = Buffer.alloc(bytes, character)
    .toString()
    .replace(/\ufffd$/, '')
  return BAD.map(bad => Buffer.from(row + bad).toString())
}

const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  'credits as an amount': text => parseCredits(`1.${text}`),
  'a field path': text => fieldPath(text.slice(0, MIB / 4)),
  'a text without trailing slashes': text => withoutTrailing(text, '/'),
  'forwarded addresses': text => clientAddress('127.0.0.1', [text.slice(0, MIB)], parseCidrs(['127.0.0.1'])),
  'a pattern with many stars': text => starPattern(`${'*a'.repeat(64)}*b`)(text),
  'quotations of a prompt': text => withoutQuotations(`${text.slice(0, 200)} '${text.slice(0, 60)}x'`, [text], MIB * 4),
  'a header with tags': text => readTagsHeader(text.slice(0, 4096)),
  'a name against its own pattern': text => starPattern(`*${text.slice(0, 128)}*x`)(text),
  'the words of the demo': text => wordEnds(text, 4096),
  'the count of the demo': text => countWords(text),
  'depth of a JSON text': text => guardText(text, { depthMax: 32, membersMax: 50_000 }),
  'a cell of CSV': text => csvLine(['cell'], { cell: text.slice(0, MIB / 4) }),
}

const BODY_READERS: Readonly<Record<string, (text: string) => unknown>> = {
  'words of a prompt': text => surelyExceeds({ messages: said(text), promptBytes: BODY }, 128_000),
  'texts of a prompt': text => [...promptTexts(said(text), {})],
  'a chat with a file': text => chat({ type: 'file', file: { file_data: text } }),
  'a chat with audio': text => chat({ type: 'input_audio', input_audio: { data: text, format: 'mp3' } }),
  'a chat with an image': text => chat({ type: 'image_url', image_url: { url: text } }),
  'a chat with a data: URL': text => chat({ type: 'image_url', image_url: { url: `data:${text}` } }),
  'a chat with a name': text => parseChat({ model: 'm', messages: [{ role: 'user', content: 'x', name: text }] }),
  'a chat with a model': text => parseChat({ model: text, messages: [{ role: 'user', content: 'x' }] }),
}

function said(content: string) {
  return [{ role: 'user', content }]
}

function chat(part: object): unknown {
  return parseChat({ model: 'm', messages: [{ role: 'user', content: [part] }] })
}

// The minimum of a few runs, because others use the machine too; super-linear work is slow in all of them.
function cpuMsOf(texts: readonly string[], read: (text: string) => unknown): number {
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < RUNS_MAX && least > QUICK_MS; run++) {
    const before = process.threadCpuUsage()
    for (const text of texts) {
      try {
        read(text)
      } catch (error) {
        // A refusal is as good as a result, a pattern that overflows the stack is not.
        if (error instanceof RangeError) throw error
      }
    }
    const { user, system } = process.threadCpuUsage(before)
    least = Math.min(least, (user + system) / 1000 / texts.length)
  }
  return least
}

const RUNS_MAX = 4
const QUICK_MS = 50

if (!isMainThread && parentPort !== null) {
  for (const { name, texts, read, cpuMsMax } of everyWork()) {
    parentPort.postMessage({ kind: 'begins', name, cpuMsMax } satisfies Said)
    parentPort.postMessage({ kind: 'took', cpuMs: cpuMsOf(texts, read) } satisfies Said)
  }
}
