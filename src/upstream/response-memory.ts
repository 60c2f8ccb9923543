// How much of whole answers may be in memory at once, on this node and for one account. An answer that finds no room is read no
// further until others have left. The oldest of those that are being read may exceed the bound, one at a time, so that answers of
// which each has a half never wait for each other without end. See docs/decisions/large-answers.md.

export type AnswerMemory = {
  // Room for one answer. `resume` is called when it got what it waited for.
  open(accountId: string, resume: () => void): AnswerRoom
  readonly bytes: number
}

export type AnswerRoom = {
  // Asks for room for this many bytes more. False: there is none yet; read nothing until `resume` is called.
  take(bytes: number): boolean
  readonly isWaiting: boolean
  // All of it has arrived: it asks for no more, but keeps its room until it is released.
  complete(): void
  // Once, on every way out.
  release(): void
}

export type AnswerMemoryBounds = { readonly bytesMax: number; readonly bytesMaxPerAccount: number }

type Room = AnswerRoom & { readonly account: Account; readonly resume: () => void; bytes: number; wanted: number }

type Account = {
  readonly id: string
  bytes: number
  // The one that may exceed the account's share, until it is released.
  beyond: Room | undefined
  // Both in the order in which they came.
  readonly reading: Set<Room>
  readonly waiting: Set<Room>
}

export function answerMemory({ bytesMax, bytesMaxPerAccount }: AnswerMemoryBounds): AnswerMemory {
  const accounts = new Map<string, Account>()
  const reading = new Set<Room>()
  // Accounts with an answer that waits, in the order of their turns. An account past its own share has none until it gives
  // something back.
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

  // Turn by turn, each account with its oldest. Where the node is full, nobody overtakes the one whose turn it is.
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
