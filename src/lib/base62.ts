// Base62 of fixed width: the same number of bytes always gives the same number of characters (32 bytes give 43), so a
// secret's length says nothing about its value, and texts sort as their bytes do.

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const BITS_PER_LETTER = Math.log2(62)

export function encodeBase62(bytes: Uint8Array): string {
  let rest = bytes.length === 0 ? 0n : BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  let text = ''
  for (let left = base62Width(bytes.length); left > 0; left--) {
    text = ALPHABET[Number(rest % 62n)] + text
    rest /= 62n
  }
  return text
}

// The number of characters that this number of bytes encodes to.
export function base62Width(bytes: number): number {
  return Math.ceil((bytes * 8) / BITS_PER_LETTER)
}

export function isBase62(text: string): boolean {
  return /^[0-9A-Za-z]+$/.test(text)
}
