// The project's style rules as a test: the table of layers (which may import which) and the rules that no linter has, first
// tested on artificial trees with one fault each, then applied to the real one.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { findUntidy, type Layers, readTree, type Tree } from './support/tidy.ts'

// The store's contract, without its implementations.
const CONTRACT = 'store/contract/'

// The schema of providers and models, its rules, and the parsed documents.
const DOCUMENTS = ['schema', 'rules', 'price-rules', 'provider', 'model', 'document'].map(name => `catalog/${name}.ts`)

// A layer may import itself and those listed. A comment explains every exception.
const LAYERS: Layers = [
  ['lib/', []],
  ['domain/', ['lib/']],
  [CONTRACT, ['domain/']],
  ['store/', ['domain/', 'lib/']],
  ['upstream/', ['domain/', 'lib/']],
  ['admit/', [CONTRACT, 'domain/', 'lib/']],
  ['settle/', [CONTRACT, 'domain/', 'lib/']],
  ['admin/', [CONTRACT, 'domain/', 'lib/']],
  // What customers do with their own account: the operators' methods, in the scope of one account.
  ['portal/', ['admin/', CONTRACT, 'domain/', 'lib/']],
  ['route/', [CONTRACT, 'upstream/', 'chat/parse-request.ts', 'chat/parse-embeddings.ts', 'domain/', 'lib/']],
  ['relay/', ['domain/', 'lib/']],
  // Endpoints are called with the HTTP clients of providers: the same rules for addresses and proxies.
  ['webhooks/', [CONTRACT, 'upstream/', 'domain/', 'lib/']],
  // The lifecycle of a request, its dry run without an upstream call, and a count of its tokens. The other files of the folder parse a request and
  // are below the stages.
  ['chat/complete.ts', ['admit/', 'route/', 'relay/', 'settle/', CONTRACT, 'domain/', 'lib/']],
  ['chat/count-tokens.ts', ['admit/', 'route/', 'settle/', 'domain/', 'lib/']],
  ['chat/quote.ts', ['admit/', 'route/', 'settle/', CONTRACT, 'domain/', 'lib/']],
  ['chat/', ['domain/', 'lib/']],
  // How requests are read and answers written, in the dialect of the caller.
  ['dialects/', ['chat/', 'relay/sink.ts', 'domain/', 'lib/']],
  // The router admits before an endpoint is chosen, and free endpoints make their own reservation: hence admit and the
  // store's contract.
  [
    'http/',
    [
      'dialects/',
      'chat/',
      'admin/',
      'portal/',
      'catalog/schema.ts',
      'relay/sink.ts',
      'admit/',
      'telemetry/',
      CONTRACT,
      'domain/',
      'lib/',
    ],
  ],
  ['telemetry/', ['domain/', 'lib/']],
  // The schema of providers and models, which the file declares.
  ['config/', [...DOCUMENTS, 'telemetry/log.ts', 'domain/', 'lib/']],
  // The lifecycle of the process: it opens and wires everything, and has no business rule.
  ['server/', ['']],
  // Declared and operators' providers and models, with their credentials. Its documents are below the configuration.
  ...DOCUMENTS.map(file => [file, ['config/limits.ts', 'domain/', 'lib/', ...DOCUMENTS]] as const),
  [
    'catalog/',
    ['config/', 'telemetry/log.ts', 'route/catalog.ts', 'upstream/ai-sdk/models.ts', CONTRACT, 'domain/', 'lib/'],
  ],
  // `serve` starts the server; `audit`, `backup`, `restore` and `migrate` work on the store itself without a gateway; amounts
  // are in credits.
  [
    'cli/',
    [
      'server/serve.ts',
      'server/cluster/primary.ts',
      'config/',
      'store/audit/',
      'store/forget-credentials.ts',
      'store/sqlite/lock.ts',
      'store/transfer/',
      'domain/budget.ts',
      'domain/credits.ts',
      'lib/',
    ],
  ],
]

// A tree without faults, with some text that looks like one.
const TIDY: Tree = {
  'README.md': 'See /usr/bin/node and https://www.npmjs.com/package/turnpike.',
  'src/lib/clock.ts': source('export const now = () => Date.now()'),
  'src/domain/key.ts': source("import { now } from '../lib/clock.ts'\nexport const at = new Date(now())"),
  'src/store/contract/store.ts': source("import type { Key } from '../../domain/key.ts'"),
  'src/admit/admit.ts': source(
    "import { Gates } from '../store/contract/store.ts'\nconst any = { any: 1 }, fetched = call.fetch(any)",
  ),
  'src/config/env.ts': source("export const prefix = 'svc_live_' + process.env.X"),
  'src/http/page.ts': source('// process.env, Date.now()\nconst text = `process.env $' + '{1} fetch(x)`'),
  'src/config/limits.ts': source('const TABLE = {\n  bodyBytesMax: 4,\n}'),
  'src/http/body.ts': source('export const read = (bounds) => bounds.bodyBytesMax'),
  'src/http/server.ts': source("import type { Server } from 'node:http'\nimport type { Socket } from 'node:net'"),
  'src/lib/node-http.ts': source("export const { createServer } = process.getBuiltinModule('node:http')"),
  'src/upstream/open-socket.ts': source("import { connect } from 'node:net'\nlet onEnd: Stream.End = () => undefined"),
  'src/upstream/undici/client.ts': source("const { Client } = await import('undici')"),
  'src/store/sqlite/migrations/0001-ground.sql': '-- What the store holds from its first day.\nCREATE TABLE a (b);\n',
  'test/e2e/a/a.test.ts': source("import { at } from '../../../src/domain/key.ts'\nconst body = 'svc_live_ TODO'"),
}

function source(code: string): string {
  return `// What this file is for, in a sentence.\n${code}\n`
}

test('a tidy tree has no findings', () => {
  assert.deepEqual(findUntidy(TIDY, LAYERS), [])
})

const FAULTS: Readonly<Record<string, readonly [tree: Tree, finding: RegExp]>> = {
  'an import of a higher layer': [
    { 'src/domain/a.ts': source("import type { Gates } from '../store/contract/store.ts'") },
    /^src\/domain\/a\.ts:2 upward import: domain\/ may not import store\/contract\/store\.ts$/,
  ],
  'a stage that imports another': [
    { 'src/relay/a.ts': source("import { admit } from '../admit/admit.ts'") },
    /upward import: relay\/ may not import admit\/admit\.ts$/,
  ],
  'a file of a layer that is not listed': [
    { 'src/http/a.ts': source("const { meter } = await import('../relay/usage-meter.ts')") },
    /upward import: http\/ may not import relay\/usage-meter\.ts$/,
  ],
  'product code that imports a test': [
    { 'src/http/a.ts': source("import '../../test/support/b.ts'") },
    /may not import \.\.\/\.\.\/test\/support\/b\.ts$/,
  ],
  'a file without a layer': [{ 'src/attic/a.ts': source('') }, /^src\/attic\/a\.ts:1 has no layer/],
  'an import circle': [
    {
      'src/lib/a.ts': source("import { b } from './b.ts'"),
      'src/lib/b.ts': source("export * from './c.ts'"),
      'src/lib/c.ts': source("import type { A } from './a.ts'"),
    },
    /import circle: src\/lib\/a\.ts → src\/lib\/b\.ts → src\/lib\/c\.ts → src\/lib\/a\.ts$/,
  ],
  'an unused bound': [
    {
      'src/config/limits.ts': source('const TABLE = {\n  urlBytesMax: 8,\n}'),
      'src/http/a.ts': source('// urlBytesMax\nconst URL_BYTES_MAX = 8'),
    },
    /^src\/config\/limits\.ts:3 has an unused bound: urlBytesMax$/,
  ],
  'a folder of utils': [{ 'src/lib/utils/a.ts': source('') }, /generic name/],
  'a file of helpers': [{ 'test/support/helpers.ts': source('') }, /generic name/],
  'a barrel': [{ 'src/domain/index.ts': source('') }, /generic name/],
  'a file without an opening comment': [{ 'src/lib/a.ts': 'export {}\n' }, /no opening sentence/],
  'a file with an opening comment of two words': [
    { 'bench/a.ts': '// Some code.\nexport {}\n' },
    /no opening sentence/,
  ],
  'a migration without an opening comment': [{ 'src/store/a.sql': 'SELECT 1;\n' }, /no opening sentence/],
  'the environment': [{ 'src/http/a.ts': source('f(process.env.HOME)') }, /:2 reads the environment/],
  'the environment inside a template': [{ 'src/http/a.ts': source('f(`$' + '{process.env.HOME}`)') }, /environment/],
  'the time of day': [{ 'src/admit/a.ts': source('const at = Date.now()') }, /reads the time/],
  'the time since the start': [{ 'src/admit/a.ts': source('const at = performance.now()') }, /reads the time/],
  'the time by hrtime': [{ 'src/admit/a.ts': source('const at = process.hrtime.bigint()') }, /reads the time/],
  'the current date': [{ 'src/admit/a.ts': source('const at = new Date( )') }, /reads the time/],
  chance: [{ 'src/route/a.ts': source('rank(Math.random)') }, /uses Math\.random/],
  fetch: [{ 'src/route/a.ts': source("await fetch('http://a')") }, /opens an outgoing socket/],
  'a raw socket': [{ 'src/lib/a.ts': source("import { connect } from 'node:net'") }, /opens a socket: imports connect/],
  'a raw socket under another name': [
    { 'src/lib/a.ts': source("import { connect as call } from 'node:tls'") },
    /opens a socket: imports connect from/,
  ],
  "Node's HTTP server by import": [
    { 'src/http/server.ts': source("import { createServer } from 'node:http'") },
    /imports createServer from node:http/,
  ],
  'a module without an import': [
    { 'src/http/a.ts': source("const { connect } = process.getBuiltinModule('node:net')") },
    /loads a built-in module without importing it/,
  ],
  'an HTTP client': [{ 'src/http/server.ts': source("import { request } from 'node:http'") }, /imports request from/],
  'a whole module of sockets': [{ 'src/http/server.ts': source("import http from 'node:http'") }, /imports \* from/],
  undici: [{ 'src/upstream/a.ts': source("import { Pool } from 'undici'") }, /imports Pool from undici/],
  'undici, loaded later': [{ 'src/upstream/a.ts': source("await import('undici')") }, /imports \* from undici/],
  'the prefix of keys': [{ 'src/http/a.ts': source("const key = 'svc_live_' + x") }, /hard-codes the brand/],
  'the prefix of headers': [{ 'src/http/a.ts': source('h[`x-svc-cost`]') }, /hard-codes the brand/],
  'rounded money': [{ 'src/domain/a.ts': source('price.toFixed(2)') }, /uses a float for money: toFixed/],
  'money parsed as a float': [{ 'src/store/a.ts': source('parseFloat(row.cost)') }, /uses a float for money/],
  'money as a number': [{ 'src/settle/a.ts': source('Number(bill.cost)') }, /uses a float for money/],
  'a retired word in code': [{ 'src/route/a.ts': source('const fleet = 1') }, /a\.ts:2 uses a retired word: fleet$/],
  'a retired word in a test title': [
    { 'test/e2e/a/a.test.ts': source("test('so many are served', f)") },
    /a\.test\.ts:2 uses a retired word: so many$/,
  ],
  'a retired name in a benchmark': [
    { 'bench/a.ts': source('const a = openRooms()') },
    /a\.ts:2 uses a retired word: openRooms$/,
  ],
  'a retired word on a page': [
    { 'docs/a.md': 'The gateway keeps a keyring.' },
    /a\.md:1 uses a retired word: keyring$/,
  ],
  'unfinished work': [{ 'src/lib/a.ts': source('// TODO: later') }, /has unfinished work: TODO/],
  'a suppressed type error': [{ 'test/a.ts': source('// @ts-expect-error') }, /silences the type checker/],
  'the type any': [{ 'bench/a.ts': source('const a = b as any') }, /uses any/],
  'a function assigned to a field': [
    { 'src/http/a.ts': source('it.end = (a, f = g()): string[] => close(a)') },
    /assigns a function expression to a field/,
  ],
  'a function assigned to a field, among other code': [
    { 'src/http/a.ts': source('const it = {}\nif (late) it.onEnd =\n  <T>(why: T) => close(why)') },
    /a\.ts:3 assigns a function expression to a field/,
  ],
  'a function assigned conditionally to a field': [
    { 'src/http/a.ts': source('it.end ??= async why => close(why)') },
    /assigns a function expression to a field/,
  ],
  'a test that runs alone': [{ 'test/a.test.ts': source("test.only('a', f)") }, /skips a test/],
  'a home folder': [{ 'docs/a.md': `in ${'/ho'}me/alice/turnpike` }, /a\.md:1 names a machine's path/],
  'a private registry': [
    { '.npmrc': `url=https://regis${'try.'}corp.example/npm` },
    /names a machine's path or registry/,
  ],
  'downloads in the lock file': [{ 'package-lock.json': `"resolved${'":'} "https://a/b.tgz"` }, /names a machine's/],
}

for (const [fault, [tree, finding]] of Object.entries(FAULTS)) {
  test(`found: ${fault}`, () => {
    const findings = findUntidy({ ...TIDY, ...tree }, LAYERS)

    assert.equal(findings.length, 1, findings.join('\n'))
    assert.match(findings[0] ?? '', finding)
  })
}

test('the project keeps its style rules', () => {
  const untidy = findUntidy(readTree(join(import.meta.dirname, '..')), LAYERS)

  assert.deepEqual(untidy, [])
})
