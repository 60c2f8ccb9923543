// Tells whether somebody is using the page. Background polling is marked as such, so that an unattended tab does not keep its
// session alive.

// Longer than the polling interval of a live page, so that every interaction reaches the server at least once.
const ACTIVE_MS = 10_000

let lastInputAt = Date.now()

for (const event of ['pointerdown', 'keydown', 'wheel', 'touchstart'] as const) {
  addEventListener(event, () => (lastInputAt = Date.now()), { capture: true, passive: true })
}

export function isUserIdle(): boolean {
  return Date.now() - lastInputAt > ACTIVE_MS
}
