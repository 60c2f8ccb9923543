// The style rules that no linter has: which layer may import which, what only one file may do, and what is banned
// everywhere. It reads a tree of texts, so that a test can pass an artificial one, and reports findings as `file:line what`.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { type Import, importsOf, lineAt, type SourceText, takeApart } from './source-text.ts'

export type Tree = Readonly<Record<string, string>>

// A file belongs to the first layer that is a prefix of its path under src/. A layer may import itself and those listed.
export type Layers = readonly (readonly [layer: string, mayImport: readonly string[]])[]

export function findUntidy(tree: Tree, layers: Layers): string[] {
  const sources = new Map<string, Source>()
  for (const [path, text] of Object.entries(tree)) {
    if (!/\.(ts|tsx|js|mjs)$/.test(path)) continue
    const parts = takeApart(text)
    sources.set(path, { ...parts, path, imports: importsOf(parts.code) })
  }
  return [
    ...[...sources.values()].flatMap(source => [...wrongImports(source, layers), ...wrongWords(source)]),
    ...circles(sources),
    ...idleBounds(sources),
    ...Object.entries(tree).flatMap(([path, text]) => [
      ...genericName(path),
      ...withoutOpening(path, text),
      ...tracesOfMachines(path, text),
      ...retiredWords(path, text),
    ]),
  ]
}

// Everything that is or could be committed: all but the folders of .gitignore.
export function readTree(root: string): Tree {
  const ignored = readFileSync(join(root, '.gitignore'), 'utf8').split('\n')
  const skipped = new Set(['.git', ...ignored.map(line => line.replace(/\/$/, ''))])
  const tree: Record<string, string> = {}
  const walk = (folder: string) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (skipped.has(entry.name) || /\.(log|png|ico|woff2)$/.test(entry.name)) continue
      if (entry.isDirectory()) walk(path)
      else if (entry.isFile()) tree[path] = readFileSync(join(root, path), 'utf8')
    }
  }
  walk('')
  return tree
}

type Source = SourceText & { readonly path: string; readonly imports: readonly Import[] }

function wrongImports({ path, imports }: Source, layers: Layers): string[] {
  const own = inSrc(path)
  if (own === undefined) return []
  const layer = layers.find(([name]) => own.startsWith(name))
  if (layer === undefined) return [`${path}:1 has no layer: it is not in the table of layers`]
  const allowed = [layer[0], ...layer[1]]
  return imports.flatMap(({ from, line }) => {
    if (!from.startsWith('.')) return []
    const target = inSrc(normalize(join(dirname(path), from)))
    if (target !== undefined && allowed.some(name => target.startsWith(name))) return []
    return [`${path}:${line} upward import: ${layer[0]} may not import ${target ?? from}`]
  })
}

function circles(sources: ReadonlyMap<string, Source>): string[] {
  const found: string[] = []
  const done = new Set<string>()
  const visit = (path: string, trail: readonly string[]) => {
    const at = trail.indexOf(path)
    if (at >= 0) found.push(`${path}:1 import circle: ${[...trail.slice(at), path].join(' → ')}`)
    if (at >= 0 || done.has(path)) return
    done.add(path)
    for (const { from } of sources.get(path)?.imports ?? []) {
      const target = normalize(join(dirname(path), from))
      if (from.startsWith('.') && sources.has(target)) visit(target, [...trail, path])
    }
  }
  for (const path of sources.keys()) visit(path, [])
  return found
}

// An unused bound has no effect, and changing it would be misleading.
function idleBounds(sources: ReadonlyMap<string, Source>): string[] {
  const path = 'src/config/limits.ts'
  const table = sources.get(path)?.bare ?? ''
  const others = [...sources.values()].filter(source => source.path.startsWith('src/') && source.path !== path)
  return [...table.matchAll(/^ {2}(\w+):/gm)].flatMap(({ 1: name = '', index }) => {
    const isRead = others.some(({ bare }) => new RegExp(`\\b${name}\\b`).test(bare))
    return isRead ? [] : [`${path}:${lineAt(table, index)} has an unused bound: ${name}`]
  })
}

// Words that only this project used, in code, comments, test titles and pages; docs/glossary.md has the ones to use.
const RETIRED = new RegExp(
  `\\b(?:${[
    'fleets?|errands?|keyrings?|broughtBack|neverLeft|setOut|borne out|doubtful|relimit|misremembered|makeRoom|dropOld',
    'isUnfilled|saySorry|oversize|nonsense|desks?|deskOf|purses?|EntryTicket|lanes?|upkeep|wishes|RowPage|KeyPage|AccountPage',
    '(?:assert)?strangers?|bugs? of ours|(?:assert)?mended|(?:prepare)?anew|hung up|hungUp',
    '(?:open)?rooms|hasRoom|(?:the|sound) books|(?:open|assert|sqlite|postgres)Books|crowds?|scenes?|rosters?|witness(?:es)?',
    'troubled?|troubles|judged?|judges|doors?|tally|tallied|(?<!round )trips?|so many|whoever|for ever|dearest',
  ].join('|')})\\b`,
  'gi',
)

const SPOKEN = /^(?:src|web\/src|docs|test|bench|bin)\/.*\.(?:tsx?|js|sh|md|sql|py)$|^README\.md$/
// The rule itself and its test name the words.
const NAMES_RETIRED = /^test\/(?:support\/tidy|tidy\.test)\.ts$/

function retiredWords(path: string, text: string): string[] {
  if (!SPOKEN.test(path) || NAMES_RETIRED.test(path)) return []
  return [...text.matchAll(RETIRED)].map(
    ({ 0: word, index }) => `${path}:${lineAt(text, index)} uses a retired word: ${word}`,
  )
}

type Rule = {
  readonly what: string
  readonly where: RegExp
  readonly except?: RegExp
  readonly part: keyof SourceText
  readonly pattern: RegExp
}

const SOURCES = /^(src|test|bench|bin|web)\//
const MONEY = /^src\/(domain|settle|store|admin|admit)\//

const RULES: readonly Rule[] = [
  {
    what: 'reads the environment, which only config does',
    where: /^src\//,
    except: /^src\/config\//,
    part: 'bare',
    pattern: /\bprocess\.env\b|\bloadEnvFile\b/,
  },
  {
    what: 'reads the time, which only lib/clock.ts does',
    where: /^src\//,
    except: /^src\/lib\/clock\.ts$/,
    part: 'bare',
    pattern:
      /\b(Date|Temporal)\.now\b|\bperformance\.(now|timeOrigin)\b|\bprocess\.(hrtime|uptime)\b|\bnew Date\b(?!\s*\(\s*[^\s)])/i,
  },
  {
    what: 'uses Math.random; randomness is a parameter from server/context.ts',
    where: /^src\//,
    except: /^src\/server\/context\.ts$/,
    part: 'bare',
    pattern: /\bMath\.random\b/,
  },
  {
    what: 'opens an outgoing socket, which only upstream/open-socket.ts and cli/http-client.ts do',
    where: /^src\//,
    except: /^src\/cli\/http-client\.ts$/,
    part: 'bare',
    pattern: /(?<![.\w])(fetch|WebSocket|EventSource)\b(?!\s*[:?])|\bglobalThis\.fetch\b/,
  },
  {
    what: 'hard-codes the brand, which only config does',
    where: /^(src|bin)\//,
    except: /^src\/config\//,
    part: 'code',
    pattern: /svc_live_|x-svc-/i,
  },
  {
    what: 'uses a float for money',
    where: MONEY,
    part: 'bare',
    pattern:
      /\b(toFixed|toPrecision|parseFloat)\b|\bNumber\([^)]*\b(cost|price|credits?|nano|balance|hold|held|amount|owed|spent)\b/i,
  },
  { what: 'has unfinished work', where: SOURCES, part: 'comments', pattern: /\b(TODO|FIXME|XXX|HACK)\b/ },
  {
    what: 'silences the type checker',
    where: SOURCES,
    part: 'comments',
    pattern: /@ts-(ignore|nocheck|expect-error)/,
  },
  { what: 'uses any', where: SOURCES, part: 'bare', pattern: /(?:[:<|&,]|=>|\bas)\s*any\b(?!\s*[:(.?=])/ },
  {
    // V8 allocates such a function in the old generation (docs/performance.md).
    what: 'assigns a function expression to a field',
    where: /^src\/(?!cli\/)/,
    part: 'bare',
    // After a colon it is a type.
    pattern:
      /(?<![\w.\])#]|: )\w+(?:[!?]?\.#?\w+|\[[^\]]+\])+ (?:\?\?|\|\||&&)?=\s+(?:async )?(?:function\b|(?:<[^<>]*>)?(?:\w+|\([^()]*(?:\([^()]*\)[^()]*)*\)(?:: [^=]+)?) =>)/,
  },
  {
    what: 'loads a built-in module without importing it, which only lib/node-http.ts does',
    where: /^src\//,
    except: /^src\/lib\/node-http\.ts$/,
    part: 'bare',
    pattern: /\bgetBuiltinModule\b/,
  },
  {
    what: 'skips a test or runs it alone',
    where: /^test\//,
    part: 'bare',
    pattern: /\b(?:test|it|describe|t)\.(only|skip|todo)\b/,
  },
]

function wrongWords(source: Source): string[] {
  const { path } = source
  const found = RULES.filter(({ where, except }) => where.test(path) && !except?.test(path)).flatMap(
    ({ what, part, pattern }) =>
      [...source[part].matchAll(new RegExp(pattern, `g${pattern.flags}`))].map(
        match => `${path}:${lineAt(source[part], match.index)} ${what}: ${match[0].trim()}`,
      ),
  )
  return [...found, ...sockets(source)]
}

// Modules that can open a connection, and the files that may import parts of them. Type imports are allowed.
const SOCKET_MODULES = /^(node:)?(net|tls|http|https|http2|dgram)$|^undici$/
const SOCKET_PARTS: Readonly<Record<string, readonly string[]>> = {
  'src/lib/ip-address.ts': ['BlockList', 'isIPv4', 'isIPv6'],
  'src/upstream/open-socket.ts': ['connect', 'isIP'],
}

// Its types may be imported elsewhere; its values only here.
const UNDICI_FOLDER = 'src/upstream/undici/'

function sockets({ path, imports }: Source): string[] {
  if (inSrc(path) === undefined) return []
  return imports.flatMap(({ from, line, values }) => {
    if (!SOCKET_MODULES.test(from) || (from === 'undici' && path.startsWith(UNDICI_FOLDER))) return []
    const wrong = values?.filter(name => !SOCKET_PARTS[path]?.includes(name)) ?? ['*']
    return wrong.length === 0 ? [] : [`${path}:${line} opens a socket: imports ${wrong.join(', ')} from ${from}`]
  })
}

const GENERIC_NAMES = /(^|\/)(utils?|helpers?|common|misc|shared)(\/|\.\w+$)|(^|\/)index\.[jt]sx?$/

function genericName(path: string): string[] {
  return SOURCES.test(path) && GENERIC_NAMES.test(path)
    ? [`${path}:1 has a generic name: name it after its contents`]
    : []
}

const OPENINGS: Readonly<Record<string, RegExp>> = {
  ts: /^(?:\/\/ .*\n)+/,
  tsx: /^(?:\/\/ .*\n)+/,
  js: /^(?:#!.*\n)?(?:\/\/ .*\n)+/,
  sql: /^(?:-- .*\n)+/,
  py: /^"""[\s\S]+?"""/,
}

// One or two sentences about the purpose of the file.
function withoutOpening(path: string, text: string): string[] {
  const pattern = OPENINGS[path.split('.').at(-1) ?? '']
  if (pattern === undefined || !SOURCES.test(path)) return []
  const opening = pattern.exec(text)?.[0] ?? ''
  const isSentence = opening.split(/\s+/).length > 4 && /[.:](?:"""|\s)/.test(opening)
  return isSentence ? [] : [`${path}:1 has no opening sentence about its purpose`]
}

const TRACES = [
  /(?<![\w.])\/(?:home|Users)\/[\w.-]+\/|(?<![\w.])\/root\/|(?<![\w.])\/work\/\w|[A-Z]:\\Users\\/,
  /\bregistry\.[\w-]+\.[\w.-]+|\/artifactory\/|"resolved":\s*"https?:/,
] as const

function tracesOfMachines(path: string, text: string): string[] {
  return TRACES.flatMap(pattern => {
    const match = pattern.exec(text)
    return match === null
      ? []
      : [`${path}:${lineAt(text, match.index)} names a machine's path or registry: ${match[0]}`]
  })
}

function inSrc(path: string): string | undefined {
  return path.startsWith('src/') ? path.slice('src/'.length) : undefined
}
