// A read-only thread of the embedded store: opened with the first report, replaced when it exits, with a bounded queue.
// node:sqlite cannot interrupt a statement, so a thread that is silent beyond the time limit is abandoned, and the next report
// gets a new one.
import { StoreUnavailable } from '../contract/store.ts'
import type { ReportBounds } from '../sql/reads.ts'
import type { Request } from './sqlite-worker.ts'
import type { Thread, ThreadReply } from './thread.ts'

export type ReaderNeeds = {
  open(onDeath: () => void): Promise<Thread>
  readonly bounds: ReportBounds
}

export type SqliteReader = { ask(message: Request): Promise<ThreadReply>; close(): Promise<void> }

export function sqliteReader({ open, bounds }: ReaderNeeds): SqliteReader {
  let current: Promise<Thread> | undefined
  let waiting = 0

  function thread(): Promise<Thread> {
    if (current !== undefined) return current
    const forget = () => {
      if (current === opened) current = undefined
    }
    const opened = open(forget).catch((error: Error) => {
      forget()
      throw new StoreUnavailable(error.message)
    })
    current = opened
    return opened
  }

  async function ask(message: Request): Promise<ThreadReply> {
    if (waiting >= bounds.waitingMax) throw new StoreUnavailable('too many queued reports')
    waiting += 1
    const opened = thread()
    let timer: NodeJS.Timeout | undefined
    try {
      const asked = await opened
      timer = setTimeout(() => giveUp(asked, opened), bounds.msMax + bounds.statementMsMax)
      return await asked.ask(message)
    } finally {
      waiting -= 1
      clearTimeout(timer)
    }
  }

  function giveUp(asked: Thread, opened: Promise<Thread>): void {
    if (current === opened) current = undefined
    asked.kill()
  }

  return {
    ask,
    async close() {
      // One that could not be opened, or has exited, has nothing to close.
      await current?.then(thread => thread.ask({ close: true })).catch(() => undefined)
    },
  }
}
