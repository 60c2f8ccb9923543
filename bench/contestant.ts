// What takes part in the benchmark: something that can be started in front of the upstream, called, checked and stopped.
import type { Dialect, Form } from './answer-reader.ts'
import type { Postgres } from './postgres.ts'

export type Contestant = {
  readonly name: string
  // The number of processes that share the work, if not one.
  readonly processes?: number
  readonly start: (place: Place) => Promise<Running>
}

export type Place = {
  readonly folder: string
  readonly upstreamPort: number
  readonly profileFolder: string | undefined
  // Its configuration, if not the usual one.
  readonly config?: string
}

export type Running = {
  readonly pid: number
  readonly port: number
  readonly paths: Readonly<Record<Form, string>>
  readonly headers: Readonly<Record<string, string>>
  // What its callers speak, if not chat completions.
  readonly dialect?: Dialect
  // Further nodes of the same installation, among which the connections are spread.
  readonly others?: readonly Pick<Running, 'pid' | 'port'>[]
  // How many keys the requests are drawn from; without it all have the same headers.
  readonly tenants?: number
  // Where its store is not one of its own threads.
  readonly database?: Postgres
  // Throws if its billing is wrong, and stops it. Both counts include every request since the start.
  readonly verify?: (sent: number, answered: number) => Promise<void>
  // For settings that would make the warm-up slow.
  readonly afterWarmUp?: () => void
  // Its limit of CPU over all cores, where it is bounded.
  readonly cores?: number
  readonly stop: () => Promise<void>
}
