// Background maintenance of a store: roll-ups, partitions for the coming months, and retention. Any number of nodes may call it
// at once; one of them does it.

export type Maintenance = {
  // Rolls up hours and days that ended at least this long ago, or whose rows have changed since. Returns how many, and whether
  // there is more to do.
  rollUp(overForMs: number): Promise<{ readonly rolled: number; readonly more: boolean }>
  // Creates partitions for the coming months, where the engine needs them.
  ensurePartitions(): Promise<void>
  // Deletes rows older than this many days, if their sums are kept and nothing about them is undecided. Returns how many hours'
  // rows were deleted, and whether there is more to do.
  applyRetention(retentionDays: number): Promise<{ readonly dropped: number; readonly more: boolean }>
}
