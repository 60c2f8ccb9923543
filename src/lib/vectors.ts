// Vectors as OpenAI writes them: a JSON list of numbers, or the base64 of little-endian 32-bit floats. Pure.

// The entries of a list of embeddings, without its brackets, from vectors in JSON. In memory of its own, which can be transferred
// to another thread.
export function vectorItems(vectors: readonly Uint8Array[], from: number): Uint8Array {
  const heads = vectors.map((_, at) => `${at === 0 ? '' : ','}{"object":"embedding","index":${from + at},"embedding":`)
  const bytes = vectors.reduce((sum, { length }, at) => sum + (heads[at] as string).length + length + 1, 0)
  const whole = Buffer.allocUnsafeSlow(bytes)
  let end = 0
  for (const [at, vector] of vectors.entries()) {
    end += whole.write(heads[at] as string, end, 'latin1')
    whole.set(vector, end)
    end += vector.length
    whole[end++] = CLOSE
  }
  return whole
}

const CLOSE = 0x7d

export function writeVector(numbers: readonly number[], encoding: 'float' | 'base64'): Uint8Array {
  if (!areFinite(numbers)) throw new NotVector('a value is not finite')
  return Buffer.from(encoding === 'float' ? JSON.stringify(numbers) : `"${base64Of(Float32Array.from(numbers))}"`)
}

class NotVector extends Error {
  override readonly name = 'NotVector'
}

// The number of values in a JSON list that was found to be well-formed; undefined if one is not a number that a 32-bit float can
// have: JSON has 1e999, which clients read as infinity.
export function floatsIn(bytes: Buffer, from: number, to: number): number | undefined {
  let commas = 0
  let digits = 0
  // Of the number so far; a large one has many, or an exponent.
  let run = 0
  let mayBeLarge = false
  for (let at = from + 1; at < to - 1; at++) {
    const kind = KINDS[bytes[at] as number] as number
    if (kind === OTHER) return undefined
    if (kind === DIGIT) digits = 1
    if (kind === COMMA) commas += 1
    run = kind === DIGIT ? run + 1 : 0
    if (run > PLAIN_DIGITS_MAX || (kind === EXPONENT && bytes[at + 1] !== MINUS)) mayBeLarge = true
  }
  // Embeddings have neither, so that next to none is parsed.
  if (mayBeLarge && !areFinite(JSON.parse(bytes.toString('latin1', from, to)) as readonly number[])) return undefined
  return digits === 0 ? 0 : commas + 1
}

function areFinite(numbers: readonly number[]): boolean {
  return numbers.every(value => Number.isFinite(Math.fround(value)))
}

const OTHER = 0
const DIGIT = 1
const COMMA = 2
const EXPONENT = 3
const NEUTRAL = 4
const KINDS = new Uint8Array(256)
for (const code of Buffer.from('0123456789')) KINDS[code] = DIGIT
for (const code of Buffer.from('+-. \t\r\n')) KINDS[code] = NEUTRAL
for (const code of Buffer.from('eE')) KINDS[code] = EXPONENT
KINDS[0x2c] = COMMA
const MINUS = 0x2d
const PLAIN_DIGITS_MAX = 30

// Whether a range that is base64 has finite values alone: the exponent of the others has all bits set.
export function hasFiniteFloats(bytes: Buffer, from: number, to: number): boolean {
  const floats = Buffer.from(bytes.toString('latin1', from, to), 'base64')
  for (let at = 3; at < floats.length; at += 4)
    if (((floats[at] as number) & 0x7f) === 0x7f && (floats[at - 1] as number) >= 0x80) return false
  return true
}

// Whether a range has only the characters of base64.
export function isBase64(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (ALPHABET[bytes[at] as number] === 0) return false
  return true
}

const ALPHABET = new Uint8Array(256)
for (const code of Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=')) ALPHABET[code] = 1

export function base64OfText(list: string): string {
  const floats = Float32Array.from(JSON.parse(list) as number[])
  if (!floats.every(Number.isFinite)) throw new NotVector('a value is not finite')
  return base64Of(floats)
}

// The size and, on demand, the text of a vector; undefined as size if it is not one.
export function textOfBase64(base64: string): { readonly length: number | undefined; text(): string } {
  const bytes = Buffer.from(base64, 'base64')
  const isWhole = bytes.length > 0 && bytes.length % 4 === 0 && BASE64.test(base64)
  return {
    length: isWhole ? bytes.length / 4 : undefined,
    text() {
      const floats = floatsOf(bytes)
      if (!floats.every(Number.isFinite)) throw new NotVector('a value is not finite')
      return `[${floats.join(',')}]`
    },
  }
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

function base64Of(floats: Float32Array): string {
  return littleEndian(Buffer.from(floats.buffer, floats.byteOffset, floats.byteLength)).toString('base64')
}

function floatsOf(bytes: Buffer): Float32Array {
  // A copy, since a view needs an aligned offset.
  const own = littleEndian(Buffer.from(bytes))
  return new Float32Array(new Uint8Array(own).buffer)
}

const IS_LITTLE = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

function littleEndian(bytes: Buffer): Buffer {
  return IS_LITTLE ? bytes : Buffer.from(bytes).swap32()
}
