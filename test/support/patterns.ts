// Every pattern that runs on untrusted text: the regular expressions in the sources, read with a parser, and the
// patterns of the schemas that check requests, taken from the OpenAPI document.
import { globSync, readFileSync } from 'node:fs'
import { parseAst } from 'rolldown/parseAst'
import { openApiDocument } from '../../src/http/openapi/openapi.ts'

export type Pattern = { readonly where: string; readonly source: string; readonly flags: string }

export function everyPattern(): readonly Pattern[] {
  const all = [...inSources(), ...inSchemas()]
  return [...new Map(all.map(pattern => [`/${pattern.source}/${pattern.flags}`, pattern])).values()]
}

// Characters that the pattern names or that one of its classes contains, so that every loop of it is entered by one of
// them.
export function charactersOf(source: string): readonly string[] {
  const found = new Set(['a', '0', ' '])
  for (const [token] of source.matchAll(/\\[pP]\{[^}]*\}|\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\.|[\s\S]/giu)) {
    const known = CLASSES[token] ?? (token.startsWith('\\p') || token.startsWith('\\P') ? CLASSES['\\p'] : undefined)
    if (known !== undefined) for (const character of known) found.add(character)
    else if (token.length > 2) found.add(String.fromCharCode(Number.parseInt(token.slice(2), 16)))
    else found.add(token.at(-1) as string)
  }
  return [...found]
}

const CLASSES: Readonly<Record<string, string>> = {
  '\\d': '09',
  '\\D': 'a-',
  '\\w': 'z_9',
  '\\W': '-!',
  '\\s': ' \t\n\u3000',
  '\\S': 'x!',
  '\\b': 'a-',
  '\\n': '\n',
  '\\r': '\r',
  '\\t': '\t',
  '\\0': '\0',
  '\\p': 'é漢\u0007',
}

function* inSources(): Generator<Pattern> {
  for (const file of globSync('src/**/*.ts')) {
    for (const { source, flags } of literalsOf(parseAst(readFileSync(file, 'utf8'), { lang: 'ts' }, file))) {
      yield { where: file, source, flags }
    }
  }
}

function* literalsOf(node: unknown): Generator<{ source: string; flags: string }> {
  if (typeof node !== 'object' || node === null || node instanceof RegExp) return
  const { type, regex } = node as { type?: unknown; regex?: { pattern: string; flags: string } }
  if (type === 'Literal' && regex !== undefined) yield { source: regex.pattern, flags: regex.flags }
  else for (const inner of Object.values(node)) yield* literalsOf(inner)
}

function* inSchemas(): Generator<Pattern> {
  const document = openApiDocument({ keyPrefix: 'svc_live_', headerPrefix: 'X-Svc-' }, 'operators')
  for (const source of new Set(patternsIn(document))) yield { where: 'schema', source, flags: 'u' }
}

function* patternsIn(node: unknown): Generator<string> {
  if (typeof node !== 'object' || node === null) return
  for (const [name, inner] of Object.entries(node)) {
    if (name === 'pattern' && typeof inner === 'string') yield inner
    else if (name === 'patternProperties') yield* Object.keys(inner as object)
    yield* patternsIn(inner)
  }
}
