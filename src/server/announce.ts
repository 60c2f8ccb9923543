// Announces that providers are unavailable and that credentials are rejected, once for all nodes. What the store does not accept is
// tried again; of an alarm that has changed meanwhile only the last state counts.
import type { Alarm, Alarms } from '../store/contract/webhooks.ts'

export type Announcer = {
  tell(alarm: Alarm, isOn: boolean): void
  retry(): void
}

type Waiting = { readonly alarm: Alarm; readonly isOn: boolean }

export function announcer(alarms: Alarms, onError: (error: unknown) => void): Announcer {
  // At most one for each provider and credential.
  const waiting = new Map<string, Waiting>()
  let isBusy = false

  async function flush(): Promise<void> {
    if (isBusy) return
    isBusy = true
    try {
      for (const [name, told] of waiting) {
        await (told.isOn ? alarms.begin(told.alarm) : alarms.end(told.alarm))
        if (waiting.get(name) === told) waiting.delete(name)
      }
    } catch (error) {
      onError(error)
    } finally {
      isBusy = false
    }
  }

  return {
    tell(alarm, isOn) {
      waiting.set(`${alarm.providerId} ${alarm.kind === 'credential' ? alarm.credential : ''}`, { alarm, isOn })
      void flush()
    },
    retry() {
      if (waiting.size > 0) void flush()
    },
  }
}
