// Bounds the memory of whole answers, on this node and per account. An answer that finds no memory is not read further until
// others have been released. The oldest one that is being read may exceed the bound, one at a time, so that half-read answers
// never wait for each other for ever. See docs/decisions/large-answers.md.

export type AnswerMemory = {
  // Memory for one answer. `resume` is called when memory was granted.
  open(accountId: string, resume: () => void): AnswerRoom
  readonly bytes: number
}

export type AnswerRoom = {
  // Requests this many bytes more. False: none available yet; read nothing until `resume` is called.
  take(bytes: number): boolean
  readonly isWaiting: boolean
  // It has arrived completely: it requests no more, but keeps its memory until released.
  complete(): void
  // Once, on every exit path.
  release(): void
}

export type AnswerMemoryBounds = { readonly bytesMax: number; readonly bytesMaxPerAccount: number }

type Room = AnswerRoom & { readonly account: Account; readonly resume: () => void; bytes: number; wanted: number }

type Account = {
  readonly id: string
  bytes: number
  // The one that may exceed the account's share, until it is released.
  beyond: Room | undefined
  // Both in order of arrival.
  readonly reading: Set<Room>
  readonly waiting: Set<Room>
}

export function answerMemory({ bytesMax, bytesMaxPerAccount }: AnswerMemoryBounds): AnswerMemory {
  const accounts = new Map<string, Account>()
  const reading = new Set<Room>()
  // Accounts with a waiting answer, in the order of their turns. An account beyond its own share is not listed until it releases
  // something.
  const turns = new Set<Account>()
  let beyond: Room | undefined
  let total = 0

  function grant(room: Room): void {
    const { account, wanted } = room
    account.waiting.delete(room)
    room.wanted = 0
    room.bytes += wanted
    account.bytes += wanted
    total += wanted
    room.resume()
  }

  // Turn by turn, each account with its oldest. Where the node is full, nobody overtakes the next one.
  function serveTurns(): void {
    for (let account = first(turns); account !== undefined; account = first(turns)) {
      const room = first(account.waiting)
      const fits = room === undefined || account.bytes + room.wanted <= bytesMaxPerAccount
      if (room === undefined || !(fits || mayExceed(room, account.beyond, account.reading))) {
        turns.delete(account)
        continue
      }
      if (total + room.wanted > bytesMax) break
      if (!fits) account.beyond = room
      turns.delete(account)
      turns.add(account)
      grant(room)
    }
    const oldest = first(reading)
    if (oldest === undefined || oldest.wanted === 0 || !mayExceed(oldest, beyond, reading)) return
    beyond = oldest
    grant(oldest)
  }

  function noLongerReading(room: Room): void {
    room.account.reading.delete(room)
    room.account.waiting.delete(room)
    reading.delete(room)
    room.wanted = 0
  }

  return {
    open(accountId, resume) {
      const account = accounts.get(accountId) ?? newAccount(accountId)
      accounts.set(accountId, account)
      const room: Room = {
        account,
        resume,
        bytes: 0,
        wanted: 0,
        get isWaiting() {
          return room.wanted > 0
        },
        take(bytes) {
          room.wanted += bytes
          account.waiting.add(room)
          turns.add(account)
          serveTurns()
          return room.wanted === 0
        },
        complete() {
          noLongerReading(room)
          // Another is now the oldest of its account.
          if (account.waiting.size > 0) turns.add(account)
          serveTurns()
        },
        release() {
          noLongerReading(room)
          if (beyond === room) beyond = undefined
          if (account.beyond === room) account.beyond = undefined
          account.bytes -= room.bytes
          total -= room.bytes
          room.bytes = 0
          if (account.waiting.size > 0) turns.add(account)
          else if (account.bytes === 0 && account.reading.size === 0 && accounts.get(accountId) === account)
            accounts.delete(accountId)
          serveTurns()
        },
      }
      account.reading.add(room)
      reading.add(room)
      return room
    },
    get bytes() {
      return total
    },
  }
}

function newAccount(id: string): Account {
  return { id, bytes: 0, beyond: undefined, reading: new Set(), waiting: new Set() }
}

function mayExceed(room: Room, exceeding: Room | undefined, reading: ReadonlySet<Room>): boolean {
  return room === first(reading) && (exceeding === undefined || exceeding === room)
}

function first<Item>(items: Iterable<Item>): Item | undefined {
  for (const item of items) return item
  return undefined
}
