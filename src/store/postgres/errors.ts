// Classifies errors from Postgres: retry, blame a value of the batch, or discard the connection. By SQLSTATE, never by message,
// which is in the server's language.

// Postgres chose this transaction to give way (serialization, deadlock): nothing of it was done.
export function isWorthAnotherTry(error: unknown): boolean {
  const state = sqlState(error)
  return state === '40001' || state === '40P01'
}

// A value was refused (out of range, not a text, duplicate): the rest of the batch is not to blame.
export function isRefusedValue(error: unknown): boolean {
  return /^2[23]/.test(sqlState(error) ?? '')
}

// A lock was held for longer than this was willing to wait.
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === '55P03'
}

// An error that the server did not report itself leaves the connection in doubt: it broke, or no answer came in time. The
// server's own shutdown codes (57P.., 25P03, 08...) and a server that has become read-only (25006) end it as well.
export function hasLostConnection(error: unknown): boolean {
  const state = sqlState(error)
  if (state === undefined) return isFromDriver(error)
  return /^(08|57P)/.test(state) || state === '25006' || state === '25P03'
}

// Neither the server nor the driver: one of the operations is at fault, and the others are not.
export function isOurOwn(error: unknown): boolean {
  return sqlState(error) === undefined && !isFromDriver(error)
}

function sqlState(error: unknown): string | undefined {
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  return typeof code === 'string' && typeof severity === 'string' ? code : undefined
}

const DRIVER_WORDS =
  /^(Connection terminated|Query read timeout|timeout exceeded|Client (has encountered|was closed)|timeout expired|Received unexpected)/

function isFromDriver(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return /^E[A-Z]+$/.test(String(code ?? '')) || DRIVER_WORDS.test(String(message ?? ''))
}
