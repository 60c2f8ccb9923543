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
  // Throws if it did not keep its books, and stops it on the way. Both are of every request since the start.
  readonly verify?: (sent: number, answered: number) => Promise<void>
  // For what would make the warm-up slow.
  readonly afterWarmUp?: () => void
  // What it may use of all cores together, where that is bounded.
  readonly cores?: number
  readonly stop: () => Promise<void>
}
