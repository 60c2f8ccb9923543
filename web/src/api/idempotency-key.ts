// A key with which a call can be repeated without a second effect.

// crypto.randomUUID exists on secure pages only; getRandomValues works on plain HTTP too.
export function newIdempotencyKey(): string {
  return `web-${Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('')}`
}
