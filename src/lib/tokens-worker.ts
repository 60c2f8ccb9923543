// The thread in which token-counter.ts counts: receives one slice of text per message and returns its number of tokens. Loading
// the encoding takes 0.2 s and 74 MB, so this file is started only when a count is needed.

import { parentPort } from 'node:worker_threads'
import { threadData } from './thread.ts'

export type Encoding = 'o200k' | 'cl100k'

const { clearMergeCache, countTokens } =
  threadData<Encoding>() === 'cl100k'
    ? await import('gpt-tokenizer/encoding/cl100k_base')
    : await import('gpt-tokenizer/encoding/o200k_base')

// `ready` once the encoding is loaded, then a count for every slice, or `failed` for one that cannot be counted.
export type WorkerAnswer = 'ready' | 'failed' | number

// Merging takes time quadratic in the length of a word: 100 KB of one letter take 13 s. A longer run of anything that the
// encoding may treat as one word is split, which costs at most one token in a few hundred.
const RUN_UNITS_MAX = 512
// The encoding caches words as strings that keep the whole slice alive: clear the cache now and then.
const UNITS_PER_CACHE = 1024 * 1024
// Without this, a text that spells out a special token (<|endoftext|>) is refused.
const ANY_TEXT = { disallowedSpecial: new Set<string>() }

let unitsInCache = 0

parentPort?.on('message', (slice: string) => answer(countSlice(slice)))
answer('ready')

function answer(message: WorkerAnswer): void {
  parentPort?.postMessage(message)
}

function countSlice(slice: string): WorkerAnswer {
  unitsInCache += slice.length
  if (unitsInCache > UNITS_PER_CACHE) {
    clearMergeCache()
    unitsInCache = slice.length
  }
  try {
    return splitRuns(slice).reduce((sum, part) => sum + countTokens(part, ANY_TEXT), 0)
  } catch {
    return 'failed' // the caller has an estimate that needs no encoding
  }
}

function splitRuns(text: string): readonly string[] {
  const parts: string[] = []
  let partStart = 0
  let runStart = 0
  let inSpace = false
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (isSpace(unit) !== inSpace) {
      inSpace = !inSpace
      runStart = i
    } else if (i - runStart >= RUN_UNITS_MAX && !isLowSurrogate(unit)) {
      parts.push(text.slice(partStart, i))
      partStart = i
      runStart = i
    }
  }
  parts.push(text.slice(partStart))
  return parts
}

// What \s matches in a regular expression, like the encoding's own splitting.
function isSpace(unit: number): boolean {
  if (unit < 0x80) return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d)
  if (unit < 0x1680) return unit === 0xa0
  return WIDE_SPACES.has(unit) || (unit >= 0x2000 && unit <= 0x200a)
}

const WIDE_SPACES: ReadonlySet<number> = new Set([0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff])

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}
