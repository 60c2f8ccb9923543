// Reads of operators and customers never run in the thread or on the connections that requests wait for.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readApart, sqlRepositories } from '../../src/store/sql/repositories.ts'
import type { Sql } from '../../src/store/sql/sql.ts'

const WRITES =
  /^(create|update|delete|remove|save|add|replace|set|provision|record|open|end|revoke|rotate|reset|touch|mark|resend|enqueue)/
// They write as well, or belong to what does.
const WITH_WRITES: Readonly<Record<string, readonly string[]>> = {
  catalog: ['load', 'credentials'],
  operators: ['bearers'],
  sessions: ['bearers'],
}

test('every method that only reads is read apart', () => {
  const unused = {} as Sql
  const [writing, reading] = [sqlRepositories(unused), sqlRepositories(unused)]

  for (const name of ['keys', 'catalog', 'operators', 'sessions', 'portal', 'webhooks'] as const) {
    const apart: object = readApart(name, writing[name] as never, reading[name] as never)
    for (const method of Object.keys(writing[name])) {
      const isWrite = WRITES.test(method) || WITH_WRITES[name]?.includes(method) === true
      const wanted = isWrite ? writing[name] : reading[name]
      assert.equal(Reflect.get(apart, method), Reflect.get(wanted, method), `${name}.${method}`)
    }
  }
})
