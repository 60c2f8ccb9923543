// What takes part in the benchmark: something that can be started in front of the upstream, asked, checked and stopped.
import type { Form } from './answer-reader.ts'

export type Contestant = {
  readonly name: string
  // How many share the work, if not one.
  readonly processes?: number
  readonly start: (place: Place) => Promise<Running>
}

export type Place = {
  readonly folder: string
  readonly upstreamPort: number
  readonly profileFolder: string | undefined
}

export type Running = {
  readonly pid: number
  readonly port: number
  readonly paths: Readonly<Record<Form, string>>
  readonly headers: Readonly<Record<string, string>>
  // Throws if it did not keep its books, and stops it on the way; `sent` is every request since the start.
  readonly verify?: (sent: number) => Promise<void>
  // For what would make the warm-up slow.
  readonly afterWarmUp?: () => void
  readonly stop: () => Promise<void>
}
