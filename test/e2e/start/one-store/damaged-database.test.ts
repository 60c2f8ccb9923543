// A damaged, foreign or too new database: the gateway refuses to start, names the file, and leaves it unchanged.
import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { temporaryFolder } from '../../../support/folder.ts'
import { freePort } from '../../../support/free-port.ts'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { runProcess } from '../../../support/gateway-process.ts'
import { startUpstream } from '../../../support/upstream.ts'

type Damage = { readonly what: string; readonly said: RegExp; harm(file: string): void }

const DAMAGES: readonly Damage[] = [
  { what: 'a header of garbage', said: /not a database/, harm: file => overwrite(file, 0, 100) },
  { what: 'a file of garbage', said: /not a database/, harm: file => writeFileSync(file, 'garbage'.repeat(9999)) },
  { what: 'a file cut in the middle', said: /malformed|corrupt/, harm: file => truncateSync(file, 20_000) },
  { what: 'a file cut inside its first page', said: /malformed|corrupt|not a database/, harm: cutInFirstPage },
  { what: 'a page of garbage', said: /malformed|corrupt/, harm: file => overwrite(file, pageOf('model', file), 4096) },
  { what: 'a file of 0 bytes', said: /empty \(0 bytes\)/, harm: file => truncateSync(file, 0) },
  { what: 'a log without its database', said: /missing, but its WAL/, harm: loseAllButLog },
  { what: 'a database of another program', said: /another program/, harm: file => replace(file, 'CREATE TABLE a (b)') },
  {
    what: 'a schema of a newer version',
    said: /newer version/,
    harm: file => change(file, 'PRAGMA user_version = 999'),
  },
]

test('a damaged database stops the start with exit code 2 and is never replaced', async t => {
  await using folder = await temporaryFolder()
  const sound = await soundDatabase(folder.path)
  for (const { what, said, harm } of DAMAGES) {
    await t.test(what, async () => {
      const dataDir = join(folder.path, what.replaceAll(' ', '-'))
      const file = join(dataDir, 'turnpike.db')
      mkdirSync(dataDir)
      copyFileSync(sound, file)
      harm(file)
      const before = contentOf(file)

      const env = { TURNPIKE_DATA_DIR: dataDir, TURNPIKE_PORT: String(await freePort()) }
      const { code, stdout, stderr } = await runProcess(['serve'], folder.path, env)

      assert.equal(code, 2, stderr)
      assert.equal(stdout, '')
      assert.match(stderr, /^turnpike: the database \S+turnpike\.db cannot be opened: [^\n]+\n$/)
      assert.match(stderr, said)
      assert.deepEqual(contentOf(file), before)
    })
  }
})

// Created by a gateway that served and stopped cleanly, so that all of it is in one file.
async function soundDatabase(folder: string): Promise<string> {
  await using upstream = await startUpstream()
  const dataDir = join(folder, 'sound')
  await using gateway = await startGateway({ config: standardConfig(upstream.url), dataDir })
  for (let i = 0; i < 5; i++) await gateway.chat()
  assert.equal(await gateway.stop({ hurry: true }), 0)
  assert.ok(!existsSync(join(dataDir, 'turnpike.db-wal')))
  assert.ok((await gateway.audit()).ok)
  return join(dataDir, 'turnpike.db')
}

function contentOf(file: string): Buffer | undefined {
  return existsSync(file) ? readFileSync(file) : undefined
}

function overwrite(file: string, from: number, bytes: number): void {
  const content = readFileSync(file)
  content.fill(0xa5, from, from + bytes)
  writeFileSync(file, content)
}

// Where its table begins.
function pageOf(table: string, file: string): number {
  using db = new DatabaseSync(file, { readOnly: true })
  const { page } = db.prepare('SELECT rootpage AS page FROM sqlite_schema WHERE name = ?').get(table) as {
    page: number
  }
  return (page - 1) * 4096
}

function cutInFirstPage(file: string): void {
  truncateSync(file, 3000)
}

function loseAllButLog(file: string): void {
  rmSync(file)
  writeFileSync(`${file}-wal`, 'the rest of an installation')
}

function replace(file: string, sql: string): void {
  rmSync(file)
  change(file, sql)
}

function change(file: string, sql: string): void {
  const db = new DatabaseSync(file)
  db.exec(sql)
  db.close()
}
