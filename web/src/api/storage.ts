// What the browser remembers. Storage may be full or refused: then nothing is remembered, and the page works all the same.

type Area = 'localStorage' | 'sessionStorage'

export function stored(name: string, area: Area = 'localStorage'): string | null {
  try {
    return globalThis[area].getItem(name)
  } catch {
    return null
  }
}

export function store(name: string, value: string | null, area: Area = 'localStorage'): void {
  try {
    if (value === null) globalThis[area].removeItem(name)
    else globalThis[area].setItem(name, value)
  } catch {
    // Not remembered.
  }
}
