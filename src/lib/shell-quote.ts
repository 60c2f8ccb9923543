// Quotes a text as one word for POSIX shells.
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
