// Notifications in the corner of the page.
import { notifications } from '@mantine/notifications'
import { messageOf } from './error-alert.tsx'

export function notify(message: string): void {
  notifications.show({ message, color: 'green' })
}

export function notifyError(error: unknown): void {
  notifications.show({ message: messageOf(error), color: 'red', title: 'Something went wrong', autoClose: 10_000 })
}
