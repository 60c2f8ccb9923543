// Bounds the memory of whole answers, on this node and per account. An answer that finds no memory is not read further until
// others have been released. The oldest one that is being read may exceed the bound, one at a time, so that half-read answers
// never wait for each other forever. See docs/decisions/large-answers.md.

export type AnswerMemory = {
  // Memory for one answer. `resume` is called when memory was granted.
  open(accountId: string, resume: () => void): AnswerReservation
  readonly bytes: number
}

export type AnswerReservation = {
  // Requests this many bytes more. False: none available yet; read nothing until `resume` is called.
  take(bytes: number): boolean
  isWaiting(): boolean
  // It has arrived completely: it requests no more, but keeps its memory until released.
  complete(): void
  // Once, on every exit path.
  release(): void
}

export type AnswerMemoryBounds = { readonly bytesMax: number; readonly bytesMaxPerAccount: number }

type Reservation = AnswerReservation & {
  readonly account: Account
  readonly resume: () => void
  bytes: number
  wanted: number
}

type Account = {
  readonly id: string
  bytes: number
  // The one that may exceed the account's share, until it is released.
  beyond: Reservation | undefined
  // Both in order of arrival.
  readonly reading: Set<Reservation>
  readonly waiting: Set<Reservation>
}

export function answerMemory({ bytesMax, bytesMaxPerAccount }: AnswerMemoryBounds): AnswerMemory {
  const accounts = new Map<string, Account>()
  const reading = new Set<Reservation>()
  // Accounts with a waiting answer, in the order of their turns. An account beyond its own share is not listed until it releases
  // something.
  const turns = new Set<Account>()
  let beyond: Reservation | undefined
  let total = 0

  function grant(reservation: Reservation): void {
    const { account, wanted } = reservation
    account.waiting.delete(reservation)
    reservation.wanted = 0
    reservation.bytes += wanted
    account.bytes += wanted
    total += wanted
    reservation.resume()
  }

  // Turn by turn, each account with its oldest. Where the node is full, nobody overtakes the next one.
  function serveTurns(): void {
    for (let account = first(turns); account !== undefined; account = first(turns)) {
      const reservation = first(account.waiting)
      const fits = reservation === undefined || account.bytes + reservation.wanted <= bytesMaxPerAccount
      if (reservation === undefined || !(fits || mayExceed(reservation, account.beyond, account.reading))) {
        turns.delete(account)
        continue
      }
      if (total + reservation.wanted > bytesMax) break
      if (!fits) account.beyond = reservation
      turns.delete(account)
      turns.add(account)
      grant(reservation)
    }
    const oldest = first(reading)
    if (oldest === undefined || oldest.wanted === 0 || !mayExceed(oldest, beyond, reading)) return
    beyond = oldest
    grant(oldest)
  }

  function noLongerReading(reservation: Reservation): void {
    reservation.account.reading.delete(reservation)
    reservation.account.waiting.delete(reservation)
    reading.delete(reservation)
    reservation.wanted = 0
  }

  return {
    open(accountId, resume) {
      const account = accounts.get(accountId) ?? newAccount(accountId)
      accounts.set(accountId, account)
      const reservation: Reservation = {
        account,
        resume,
        bytes: 0,
        wanted: 0,
        isWaiting: () => reservation.wanted > 0,
        take(bytes) {
          reservation.wanted += bytes
          account.waiting.add(reservation)
          turns.add(account)
          serveTurns()
          return reservation.wanted === 0
        },
        complete() {
          noLongerReading(reservation)
          // Another is now the oldest of its account.
          if (account.waiting.size > 0) turns.add(account)
          serveTurns()
        },
        release() {
          noLongerReading(reservation)
          if (beyond === reservation) beyond = undefined
          if (account.beyond === reservation) account.beyond = undefined
          account.bytes -= reservation.bytes
          total -= reservation.bytes
          reservation.bytes = 0
          if (account.waiting.size > 0) turns.add(account)
          else if (account.bytes === 0 && account.reading.size === 0 && accounts.get(accountId) === account)
            accounts.delete(accountId)
          serveTurns()
        },
      }
      account.reading.add(reservation)
      reading.add(reservation)
      return reservation
    },
    get bytes() {
      return total
    },
  }
}

function newAccount(id: string): Account {
  return { id, bytes: 0, beyond: undefined, reading: new Set(), waiting: new Set() }
}

function mayExceed(
  reservation: Reservation,
  exceeding: Reservation | undefined,
  reading: ReadonlySet<Reservation>,
): boolean {
  return reservation === first(reading) && (exceeding === undefined || exceeding === reservation)
}

function first<Item>(items: Iterable<Item>): Item | undefined {
  for (const item of items) return item
  return undefined
}
