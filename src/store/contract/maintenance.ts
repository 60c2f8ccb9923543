// What a store does in the background to stay quick and small: sums of what is over, room for what comes, and the end of
// rows that nobody wants to keep. Any number of nodes may ask at once; one of them does it.

export type Upkeep = {
  // Sums up hours and days that are over for so long, or whose rows have changed since. Answers how many, and whether there
  // is more to do.
  rollUp(overForMs: number): Promise<{ readonly rolled: number; readonly more: boolean }>
  // Makes room for the rows of the months to come, where the engine needs it.
  makeRoom(): Promise<void>
  // Lets go of rows older than so many days, as far as their sums are kept and nothing about them is undecided. Answers how
  // many hours' rows went, and whether there is more to do.
  dropOld(retentionDays: number): Promise<{ readonly dropped: number; readonly more: boolean }>
}
