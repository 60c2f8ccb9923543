// The time zone in which the dashboard shows times: the browser's or UTC, as the operator chose. Remembered in local storage.
import { offsetName, UTC } from '../format/time.ts'
import { remembered } from './remembered.ts'

// Empty in browsers that hide it.
export const LOCAL_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone || UTC

export const { use: useZone, set: setZone } = remembered<string>(
  'turnpike-time-zone',
  text => (text === UTC ? UTC : LOCAL_ZONE),
  zone => (zone === UTC ? UTC : 'local'),
)

// UTC−5 (America/New_York)
export function zoneName(of: string, at = Date.now()): string {
  return of === UTC ? UTC : `${offsetName(at, of)} (${of.replaceAll('_', ' ')})`
}
