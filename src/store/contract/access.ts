// What every store promises of operators and their sessions. Both are read anew for every request, so that what one node
// takes away is gone on all of them. Of tokens and session secrets the store sees only hashes.
import type { Operator, Role, Session } from '../../domain/operator.ts'
import type { Actor, Page, Paged } from './operator.ts'

// Changes answer `undefined` for an unknown id; the operator of the configured token is `root` and is changed by none.
export type Operators = {
  // The configured token is the one with this hash. Another one than before ends the sessions of the old one.
  setRoot(tokenHash: string): Promise<void>
  // Who bears each of these tokens, in their order; notes that they were used.
  bearers(tokenHashes: readonly string[]): Promise<readonly (Operator | undefined)[]>
  create(input: NewOperator, max: number, actor: Actor): Promise<Operator | 'name_taken' | 'too_many'>
  get(id: string): Promise<Operator | undefined>
  list(page: Page): Promise<Paged<Operator>>
  // A lower role is in force with the next request of every session.
  update(id: string, patch: OperatorPatch, actor: Actor): Promise<Operator | 'root' | 'name_taken' | undefined>
  // A new token; ends the sessions that were opened with the old one.
  rotate(id: string, tokenHash: string, actor: Actor): Promise<Operator | 'root' | undefined>
  remove(id: string, actor: Actor): Promise<'removed' | 'root' | undefined>
}

export type NewOperator = {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly tokenHash: string
}
export type OperatorPatch = { readonly name?: string | undefined; readonly role?: Role | undefined }

export type Sessions = {
  // For the operator who bears the token at the moment of the commit; nobody does: undefined. Of more than `max` sessions of
  // one operator the oldest end.
  open(input: NewSession, max: number): Promise<Session | undefined>
  // Whose session each of these is, in their order. One that is over, or idle for too long, is nobody's.
  bearers(secretHashes: readonly string[]): Promise<readonly (Session | undefined)[]>
  // A person used it just now: what a page asks by itself is no use. Answers when that was.
  touch(id: string): Promise<number>
  list(page: Page): Promise<Paged<Session>>
  end(id: string, actor: Actor): Promise<boolean>
}

export type NewSession = {
  readonly id: string
  readonly secretHash: string
  readonly tokenHash: string
  readonly address: string
  // The session of the same browser that this one takes the place of, by the hash of its secret.
  readonly replaces: string | undefined
}
