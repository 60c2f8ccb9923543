// Short words in the corner: that something was done, or could not be.
import { notifications } from '@mantine/notifications'
import { messageOf } from './error-alert.tsx'

export function notify(message: string): void {
  notifications.show({ message, color: 'green' })
}

export function notifyError(error: unknown): void {
  notifications.show({ message: messageOf(error), color: 'red', title: 'That did not work', autoClose: 10_000 })
}
