// A figure that the product must reach, at whatever size and by whatever seed it is run.

export type Figure<Result = unknown> = {
  readonly name: string
  readonly about: string
  // What its size counts.
  readonly unit: string
  // The size at which the test command runs it.
  readonly small: number
  // Throws where the figure is not reached.
  run(course: Course): Promise<Result>
}

export type Course = {
  readonly size: number
  readonly random: () => number
  // How far it has come.
  say(done: number): void
}
