// Whether somebody sits at the page. What it asks by itself is marked as such, so that a tab that was left open does not keep
// its session alive.

// Longer than a live page waits between two questions, so that every touch is told to the server once at least.
const TOUCH_MS = 10_000

let touchedAt = Date.now()

for (const event of ['pointerdown', 'keydown', 'wheel', 'touchstart'] as const) {
  addEventListener(event, () => (touchedAt = Date.now()), { capture: true, passive: true })
}

export function isUserIdle(): boolean {
  return Date.now() - touchedAt > TOUCH_MS
}
