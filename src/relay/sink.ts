// Where an answer goes: the caller's connection, as JSON or as a stream. The two sinks are the only place where the two forms of
// a request differ.
import type { Chunk, Receipt, Whole } from '../domain/handoff.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { Considered } from '../domain/routing.ts'

export type ServedBy = {
  // The catalog id of the model that serves.
  readonly model: string
  readonly provider: string
  readonly ignored: readonly string[]
  readonly considered: readonly Considered[]
}

export type Sink = {
  // Sets the serving provider; before the first content.
  served(by: ServedBy): void
  // False: the caller reads slowly; wait until `onDrain`'s listener is called.
  chunks(chunks: readonly Chunk[]): boolean
  onDrain(listener: () => void): void
  whole(whole: Whole): void
  // Whether the status has been sent: then a failure can only be reported in band.
  headersLeft(): boolean
  // No more of the answer will be written here: pending timers are cancelled.
  abandon(): void
  // Ends the answer with what was booked, or with a refusal.
  close(receipt: Receipt, refusal: Refusal | undefined): void
}
