// What every store guarantees for operators and their sessions. Both are read for every request, so that access removed on one
// node is gone on all. The store sees only hashes of tokens and session secrets.
import type { Operator, Role, Session } from '../../domain/operator.ts'
import type { Actor, Page, Paged } from './operator.ts'

// Changes return `undefined` for an unknown id; the operator of the configured token is `root` and cannot be changed.
export type Operators = {
  // The configured token has this hash. A different one than before ends the sessions of the old one.
  setRoot(tokenHash: string): Promise<void>
  // The operators of these tokens, in order; records their use.
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
  // For the operator of the token at the moment of the commit; undefined if there is none. Beyond `max` sessions of one operator
  // the oldest end.
  open(input: NewSession, max: number): Promise<Session | undefined>
  // The operators of these sessions, in order; undefined for one that has ended or was idle for too long.
  bearers(secretHashes: readonly string[]): Promise<readonly (Session | undefined)[]>
  // A person used it just now: background requests of a page do not count. Returns when that was.
  touch(id: string): Promise<number>
  list(page: Page): Promise<Paged<Session>>
  end(id: string, actor: Actor): Promise<boolean>
}

export type NewSession = {
  readonly id: string
  readonly secretHash: string
  readonly tokenHash: string
  readonly address: string
  // The session of the same browser that this one replaces, by the hash of its secret.
  readonly replaces: string | undefined
}
