// The maximum number of files and sockets that this process may have open.
import { readFileSync } from 'node:fs'

// The usual POSIX default, for systems that do not report a limit.
const USUAL = 1024

export function descriptorLimit(): number {
  return fromProc() ?? fromReport() ?? USUAL
}

function fromProc(): number | undefined {
  try {
    return numberOf(/^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1])
  } catch {
    return undefined
  }
}

// For systems without /proc; takes a few milliseconds more.
function fromReport(): number | undefined {
  const { userLimits } = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } }
  }
  return numberOf(userLimits?.open_files?.soft)
}

function numberOf(limit: unknown): number | undefined {
  if (limit === 'unlimited') return Number.MAX_SAFE_INTEGER
  const number = Number(limit)
  return Number.isSafeInteger(number) && number > 0 ? number : undefined
}
