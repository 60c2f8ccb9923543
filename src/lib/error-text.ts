// Formats an error for the log, with its stack; never for a caller.

export function wordsOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
