// The project's style rules as a test: the table of layers (who may import whom) and the rules that no linter knows, first
// shown to catch each fault on made-up trees, then held against the real one.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { findUntidy, type Layers, readTree, type Tree } from './support/tidy.ts'

// What the store promises, without how it keeps it.
const CONTRACT = 'store/contract/'

// The schema of providers and models, its rules, and what is made of a document.
const DOCUMENTS = ['schema', 'rules', 'provider', 'model', 'document'].map(name => `catalog/${name}.ts`)

// A layer may import itself and what is listed. Where this says more than the design's own table, a comment says why.
const LAYERS: Layers = [
  ['lib/', []],
  ['domain/', ['lib/']],
  [CONTRACT, ['domain/']],
  ['store/', ['domain/', 'lib/']],
  ['upstream/', ['domain/', 'lib/']],
  ['admit/', [CONTRACT, 'domain/', 'lib/']],
  ['settle/', [CONTRACT, 'domain/', 'lib/']],
  ['admin/', [CONTRACT, 'domain/', 'lib/']],
  ['route/', [CONTRACT, 'upstream/', 'chat/parse-request.ts', 'domain/', 'lib/']],
  ['relay/', ['domain/', 'lib/']],
  // The life of a request, and the same as far as it can be told without calling anybody. The other files of the folder read a request, and
  // stand below the stages.
  ['chat/complete.ts', ['admit/', 'route/', 'relay/', 'settle/', CONTRACT, 'domain/', 'lib/']],
  ['chat/quote.ts', ['admit/', 'route/', 'settle/', CONTRACT, 'domain/', 'lib/']],
  ['chat/', ['domain/', 'lib/']],
  // The door admits before an endpoint is chosen, and endpoints that cost nothing pass the gate themselves: hence admit,
  // and of the store's contract what they read.
  [
    'http/',
    ['chat/', 'admin/', 'catalog/schema.ts', 'relay/sink.ts', 'admit/', 'telemetry/', CONTRACT, 'domain/', 'lib/'],
  ],
  ['telemetry/', ['domain/', 'lib/']],
  // What providers and models are, which the file declares.
  ['config/', [...DOCUMENTS, 'telemetry/log.ts', 'domain/', 'lib/']],
  // The life of the process: it opens and wires everything, and holds no rule of its own.
  ['server/', ['']],
  // What may be called: what is declared and what operators entered, with the credentials of both. Its documents stand below the configuration.
  ...DOCUMENTS.map(file => [file, ['config/limits.ts', 'domain/', 'lib/', ...DOCUMENTS]] as const),
  [
    'catalog/',
    ['config/', 'telemetry/log.ts', 'route/catalog.ts', 'upstream/ai-sdk/models.ts', CONTRACT, 'domain/', 'lib/'],
  ],
  // `serve` hands over to the server; `audit`, `backup`, `restore` and `migrate` work on the store itself while no gateway need run; what
  // people read and write is in credits.
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
      'domain/credits.ts',
      'lib/',
    ],
  ],
]

// A tree in which all is well, and which looks in places as if it were not.
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
  'an import of a layer above': [
    { 'src/domain/a.ts': source("import type { Gates } from '../store/contract/store.ts'") },
    /^src\/domain\/a\.ts:2 upward import: domain\/ may not import store\/contract\/store\.ts$/,
  ],
  'a stage that imports another': [
    { 'src/relay/a.ts': source("import { admit } from '../admit/admit.ts'") },
    /upward import: relay\/ may not import admit\/admit\.ts$/,
  ],
  'more of a layer than is open': [
    { 'src/http/a.ts': source("const { meter } = await import('../relay/usage-meter.ts')") },
    /upward import: http\/ may not import relay\/usage-meter\.ts$/,
  ],
  'product code that imports a test': [
    { 'src/http/a.ts': source("import '../../test/support/b.ts'") },
    /may not import \.\.\/\.\.\/test\/support\/b\.ts$/,
  ],
  'a file in no layer': [{ 'src/attic/a.ts': source('') }, /^src\/attic\/a\.ts:1 has no layer/],
  'a circle': [
    {
      'src/lib/a.ts': source("import { b } from './b.ts'"),
      'src/lib/b.ts': source("export * from './c.ts'"),
      'src/lib/c.ts': source("import type { A } from './a.ts'"),
    },
    /import circle: src\/lib\/a\.ts → src\/lib\/b\.ts → src\/lib\/c\.ts → src\/lib\/a\.ts$/,
  ],
  'a bound that nobody reads': [
    {
      'src/config/limits.ts': source('const TABLE = {\n  urlBytesMax: 8,\n}'),
      'src/http/a.ts': source('// urlBytesMax\nconst URL_BYTES_MAX = 8'),
    },
    /^src\/config\/limits\.ts:3 has a bound that nobody reads: urlBytesMax$/,
  ],
  'a folder of utils': [{ 'src/lib/utils/a.ts': source('') }, /nameless drawer/],
  'a file of helpers': [{ 'test/support/helpers.ts': source('') }, /nameless drawer/],
  'a barrel': [{ 'src/domain/index.ts': source('') }, /nameless drawer/],
  'a file that does not say what it is for': [{ 'src/lib/a.ts': 'export {}\n' }, /no opening sentence/],
  'a file that opens with a word or two': [{ 'bench/a.ts': '// Some code.\nexport {}\n' }, /no opening sentence/],
  'a migration that does not say what it is for': [{ 'src/store/a.sql': 'SELECT 1;\n' }, /no opening sentence/],
  'the environment': [{ 'src/http/a.ts': source('f(process.env.HOME)') }, /:2 reads the environment/],
  'the environment inside of a template': [{ 'src/http/a.ts': source('f(`$' + '{process.env.HOME}`)') }, /environment/],
  'the time of day': [{ 'src/admit/a.ts': source('const at = Date.now()') }, /reads the time/],
  'the time since the start': [{ 'src/admit/a.ts': source('const at = performance.now()') }, /reads the time/],
  'the time by hrtime': [{ 'src/admit/a.ts': source('const at = process.hrtime.bigint()') }, /reads the time/],
  'a date of now': [{ 'src/admit/a.ts': source('const at = new Date( )') }, /reads the time/],
  chance: [{ 'src/route/a.ts': source('rank(Math.random)') }, /takes chance/],
  fetch: [{ 'src/route/a.ts': source("await fetch('http://a')") }, /opens a socket outward/],
  'a raw socket': [{ 'src/lib/a.ts': source("import { connect } from 'node:net'") }, /opens a socket: takes connect/],
  'a raw socket under another name': [
    { 'src/lib/a.ts': source("import { connect as call } from 'node:tls'") },
    /opens a socket: takes connect from/,
  ],
  "Node's HTTP server, with all that an import brings along": [
    { 'src/http/server.ts': source("import { createServer } from 'node:http'") },
    /takes createServer from node:http/,
  ],
  'a module past its imports': [
    { 'src/http/a.ts': source("const { connect } = process.getBuiltinModule('node:net')") },
    /takes a built-in module without importing it/,
  ],
  'an HTTP client': [{ 'src/http/server.ts': source("import { request } from 'node:http'") }, /takes request from/],
  'a whole module of sockets': [{ 'src/http/server.ts': source("import http from 'node:http'") }, /takes \* from/],
  undici: [{ 'src/upstream/a.ts': source("import { Pool } from 'undici'") }, /takes Pool from undici/],
  'undici, loaded later': [{ 'src/upstream/a.ts': source("await import('undici')") }, /takes \* from undici/],
  'the prefix of keys': [{ 'src/http/a.ts': source("const key = 'svc_live_' + x") }, /spells out the brand/],
  'the prefix of headers': [{ 'src/http/a.ts': source('h[`x-svc-cost`]') }, /spells out the brand/],
  'rounded money': [{ 'src/domain/a.ts': source('price.toFixed(2)') }, /lets a float touch money: toFixed/],
  'money parsed as a float': [{ 'src/store/a.ts': source('parseFloat(row.cost)') }, /lets a float touch money/],
  'money as a number': [{ 'src/settle/a.ts': source('Number(bill.cost)') }, /lets a float touch money/],
  'a retired word in code': [{ 'src/route/a.ts': source('const fleet = 1') }, /a\.ts:2 uses a retired word: fleet$/],
  'a retired word on a page': [
    { 'docs/a.md': 'The gateway keeps a keyring.' },
    /a\.md:1 uses a retired word: keyring$/,
  ],
  'work left undone': [{ 'src/lib/a.ts': source('// TODO: later') }, /leaves something undone: TODO/],
  'a type error out of sight': [{ 'test/a.ts': source('// @ts-expect-error') }, /silences the type checker/],
  'no type at all': [{ 'bench/a.ts': source('const a = b as any') }, /gives up on types/],
  'a function made to stay': [
    { 'src/http/a.ts': source('it.end = (a, f = g()): string[] => close(a)') },
    /assigned to a field/,
  ],
  'a function made to stay, amid other code': [
    { 'src/http/a.ts': source('const it = {}\nif (late) it.onEnd =\n  <T>(why: T) => close(why)') },
    /a\.ts:3 writes a function where it is assigned to a field/,
  ],
  'a method made to stay': [{ 'src/http/a.ts': source('it.end ??= async why => close(why)') }, /assigned to a field/],
  'a test that runs alone': [{ 'test/a.test.ts': source("test.only('a', f)") }, /leaves a test out/],
  "a person's folder": [{ 'docs/a.md': `in ${'/ho'}me/alice/turnpike` }, /a\.md:1 names a machine's path/],
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
