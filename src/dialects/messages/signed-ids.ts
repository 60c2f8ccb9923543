// Google signs the calls of tools and expects the signature back with the call. A block of Messages has no place for it, so the id
// of the call carries it, in characters that every id may have.

const MARK = '_signed_'

export function signedId(id: string, call: Readonly<Record<string, unknown>>): string {
  const extra = call.extra_content as { readonly google?: { readonly thought_signature?: unknown } } | undefined
  const signature = extra?.google?.thought_signature
  return typeof signature === 'string' ? `${id}${MARK}${Buffer.from(signature).toString('base64url')}` : id
}

export function plainId(id: string): string {
  const at = id.indexOf(MARK)
  return at < 0 ? id : id.slice(0, at)
}

// The fields that a call of a chat has for it.
export function signatureIn(id: string): { readonly extra_content?: object } {
  const at = id.indexOf(MARK)
  if (at < 0) return {}
  const signature = Buffer.from(id.slice(at + MARK.length), 'base64url').toString()
  return { extra_content: { google: { thought_signature: signature } } }
}
