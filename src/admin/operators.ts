// Admin operations on operators: their names, roles and tokens. A token is shown once, when it is made.
import { createHash } from 'node:crypto'
import { SECRET_BYTES } from '../domain/key.ts'
import { type Operator, RESERVED_NAMES, type Role } from '../domain/operator.ts'
import { PORTAL_ACTOR_PREFIX } from '../domain/portal.ts'
import { isoTime, isoTimeOrNull } from '../domain/wire-time.ts'
import { encodeBase62 } from '../lib/base62.ts'
import type { Actor, OperatorPatch, Operators, Page } from '../store/contract/operator.ts'
import { conflict, type List, listOf, readName, unknown, wrong } from './input.ts'

export type OperatorObject = {
  readonly object: 'operator'
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly created_at: string
  readonly last_used_at: string | null
}
// The only responses that contain a token: of a creation and of a rotation.
export type OperatorWithToken = OperatorObject & { readonly token: string }

export type OperatorMethods = {
  create(input: { readonly name: string; readonly role: Role }, actor: Actor): Promise<OperatorWithToken>
  get(id: string): Promise<OperatorObject>
  list(page: Page): Promise<List<OperatorObject>>
  update(id: string, change: OperatorPatch, actor: Actor): Promise<OperatorObject>
  rotate(id: string, actor: Actor): Promise<OperatorWithToken>
  remove(id: string, actor: Actor): Promise<void>
}

export type OperatorNeeds = {
  readonly operators: Operators
  readonly operatorsMax: number
  // A UUIDv7 with dashes.
  newId(): string
  randomBytes(length: number): Uint8Array
}

export function operatorMethods(needs: OperatorNeeds): OperatorMethods {
  const { operators, operatorsMax } = needs

  function newToken(): { token: string; tokenHash: string } {
    const token = `tpk_op_${encodeBase62(needs.randomBytes(SECRET_BYTES))}`
    return { token, tokenHash: createHash('sha256').update(token).digest('hex') }
  }

  return {
    async create(input, actor) {
      const id = `op_${needs.newId().replaceAll('-', '')}`
      const { token, tokenHash } = newToken()
      const made = { id, name: readOperatorName(input.name), role: input.role, tokenHash }
      const operator = await operators.create(made, operatorsMax, actor)
      if (operator === 'too_many') throw conflict(`The maximum number of operators (${operatorsMax}) is reached.`)
      return { ...operatorObject(changed(operator)), token }
    },

    async get(id) {
      return operatorObject(found(await operators.get(id)))
    },

    async list(page) {
      return listOf(await operators.list(page), operatorObject)
    },

    async update(id, { name, role }, actor) {
      const patch = { name: name === undefined ? undefined : readOperatorName(name), role }
      return operatorObject(changed(await operators.update(id, patch, actor)))
    },

    async rotate(id, actor) {
      const { token, tokenHash } = newToken()
      return { ...operatorObject(changed(await operators.rotate(id, tokenHash, actor))), token }
    },

    async remove(id, actor) {
      const done = await operators.remove(id, actor)
      if (done === undefined) throw unknown('operator')
      if (done === 'root') throw rootStays()
    },
  }
}

function changed(done: Operator | 'root' | 'name_taken' | undefined): Operator {
  if (done === 'root') throw rootStays()
  if (done === 'name_taken') throw conflict('Another operator already has this name.', 'name')
  return found(done)
}

function rootStays() {
  return conflict(
    'This is the operator of TURNPIKE_ADMIN_TOKEN, the last admin. It can be changed only through the configuration.',
  )
}

function found(operator: Operator | undefined): Operator {
  if (operator === undefined) throw unknown('operator')
  return operator
}

// Names that look the same count as the same: one operator must not pass for another in the event log.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u

function readOperatorName(text: string): string {
  if (UNSEEN.test(text)) throw wrong('name', 'no invisible or control characters')
  const name = readName(text.normalize('NFKC').replace(/\s+/g, ' ').trim())
  const isReserved = RESERVED_NAMES.includes(name.toLowerCase()) || name.toLowerCase().startsWith(PORTAL_ACTOR_PREFIX)
  if (isReserved) throw wrong('name', `a name other than ${name}`)
  return name
}

function operatorObject({ id, name, role, createdAt, lastUsedAt }: Operator): OperatorObject {
  return {
    object: 'operator',
    id,
    name,
    role,
    created_at: isoTime(createdAt),
    last_used_at: isoTimeOrNull(lastUsedAt),
  }
}
