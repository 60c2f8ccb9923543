// One line of CSV (RFC 4180), safe to open in a spreadsheet: many fields come from callers.
const DECIMAL = /^-?\d+(\.\d+)?$/

export function csvRecord(values: readonly unknown[]): string {
  return `${values.map(cell).join(',')}\r\n`
}

// A cell that begins like a formula would be run by the spreadsheet, also after blanks and invisible characters; a leading
// apostrophe makes it text.
function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  // A negative amount is no formula.
  const safe = !DECIMAL.test(text) && /^[\s\p{Cc}\p{Cf}]*[=+\-@\t\r\n＝＋－＠]/u.test(text) ? `'${text}` : text
  return /[",;\r\n\t']|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
