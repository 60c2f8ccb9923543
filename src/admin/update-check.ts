// Whether there is a newer version: read from a URL at most once a day, in the background, and only when an operator
// reads the settings.
import type { Clock } from '../lib/clock.ts'
import { refreshed } from '../lib/refreshed.ts'

export type UpdateCheckNeeds = {
  // The text of the URL. Throws if there is none.
  read(): Promise<string>
  readonly current: string
  readonly everyMs: number
  readonly clock: Pick<Clock, 'monotonic'>
  onError(error: unknown): void
}

// The newer version; null if none is known. Nobody waits for the answer: it is there the next time.
export type UpdateCheck = () => Promise<string | null>

export const NO_UPDATE_CHECK: UpdateCheck = async () => null

export function updateCheck({ read, current, everyMs, clock, onError }: UpdateCheckNeeds): UpdateCheck {
  const latest = refreshed({
    read: async () => latestOf(await read()),
    everyMs,
    waitMsMax: 0,
    // While the URL cannot be read, the last answer is good for another day.
    keptMs: 2 * everyMs,
    clock,
    onError,
  })
  return async () => {
    const found = await latest.get()
    return found !== undefined && isNewer(found, current) ? found : null
  }
}

// `{"latest": "1.2.3"}` or `{"version": "1.2.3"}`, as package registries answer. Anything else is an error.
function latestOf(text: string): string {
  const answer: unknown = JSON.parse(text)
  const { latest, version }: { readonly latest?: unknown; readonly version?: unknown } = Object(answer)
  const found = latest ?? version
  if (typeof found !== 'string' || partsOf(found) === undefined) throw new Error('the answer has no version')
  return found
}

function isNewer(version: string, than: string): boolean {
  const [a, b] = [partsOf(version), partsOf(than)]
  if (a === undefined || b === undefined) return false
  const at = a.findIndex((part, index) => part !== b[index])
  return at >= 0 && (a[at] ?? 0) > (b[at] ?? 0)
}

// Releases only: "1.2.3-rc.1" is no version to recommend, and is not compared.
function partsOf(version: string): readonly number[] | undefined {
  const match = /^(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})$/.exec(version)
  return match?.slice(1).map(Number)
}
