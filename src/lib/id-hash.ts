// A number of 31 bits from the end of an id or a digest, where they are random. A Map finds it faster than the string: V8 looks up
// each new string, and every request brings its own, in a table of all strings first. Strings that end alike have the same number,
// so what was found has to be compared.
const CHARS = 8

export function idHash(id: string): number {
  let hash = 0
  for (let at = Math.max(0, id.length - CHARS); at < id.length; at++) hash = Math.imul(hash, 31) + id.charCodeAt(at)
  return hash & 0x7fffffff
}
