// Base62 of fixed width: the same number of bytes always gives the same number of characters (32 bytes give 43), so a
// secret's length says nothing about its value, and texts sort as their bytes do.

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const VALUES: ReadonlyMap<string, bigint> = new Map(Array.from(ALPHABET, (letter, i) => [letter, BigInt(i)]))
const BITS_PER_LETTER = Math.log2(62)

export function encodeBase62(bytes: Uint8Array): string {
  let rest = bytes.length === 0 ? 0n : BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  let text = ''
  for (let left = widthOf(bytes.length); left > 0; left--) {
    text = ALPHABET[Number(rest % 62n)] + text
    rest /= 62n
  }
  return text
}

// Only what encodeBase62 can have written is read: another width, or a number too large for its bytes, is undefined.
export function decodeBase62(text: string): Uint8Array | undefined {
  const length = Math.floor((text.length * BITS_PER_LETTER) / 8)
  if (widthOf(length) !== text.length) return undefined

  let value = 0n
  for (const letter of text) {
    const digit = VALUES.get(letter)
    if (digit === undefined) return undefined
    value = value * 62n + digit
  }
  const hex = value.toString(16)
  if (hex.length > length * 2 && value !== 0n) return undefined
  return new Uint8Array(length === 0 ? Buffer.alloc(0) : Buffer.from(hex.padStart(length * 2, '0'), 'hex'))
}

export function isBase62(text: string): boolean {
  return /^[0-9A-Za-z]+$/.test(text)
}

function widthOf(length: number): number {
  return Math.ceil((length * 8) / BITS_PER_LETTER)
}
