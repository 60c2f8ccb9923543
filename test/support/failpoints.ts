// The failpoints of a request, where the gateway can be made to die or throw, and what is true there.

export type Point = {
  readonly name: string
  // Whether the upstream was certainly called, whether a stream's caller has read something, whether the cost is booked.
  readonly called: boolean
  readonly heard: boolean
  readonly booked: boolean
}

export const POINTS: readonly Point[] = [
  { name: 'after_hold', called: false, heard: false, booked: false },
  { name: 'after_dispatch', called: false, heard: false, booked: false },
  { name: 'after_first_byte', called: true, heard: false, booked: false },
  { name: 'before_settle', called: true, heard: true, booked: false },
  { name: 'after_settle_before_reply', called: true, heard: true, booked: true },
]
