// A figure that the product must reach at any size and with any seed.

export type Figure<Result = unknown> = {
  readonly name: string
  readonly about: string
  // The unit of its size.
  readonly unit: string
  // The size used by the test command.
  readonly small: number
  // Throws if the figure is not reached.
  run(course: Course): Promise<Result>
}

export type Course = {
  readonly size: number
  readonly random: () => number
  // Reports progress.
  say(done: number): void
}
