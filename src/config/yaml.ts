// Reads YAML strictly: anything unexpected is refused with file, line and key. Values are taken from the text as written, and
// `${VAR}` in them from the environment; a message repeats no value that may be a secret, only ids, names and address ranges.
import { createRequire } from 'node:module'
import type * as Yaml from 'yaml'
import { BOUNDS } from './limits.ts'

// The configuration cannot be used; the message names the variable, or the file, line and key.
export class BadConfig extends Error {
  override readonly name = 'BadConfig'
  // The key and the problem, where it is about one.
  readonly at: { readonly key: string; readonly problem: string; readonly isMissing: boolean } | undefined

  constructor(message: string, at?: BadConfig['at']) {
    super(message)
    this.at = at
  }
}

// The file does not exist, which is not an error of its content.
export class NoConfigFile extends BadConfig {}

// Undefined: the text does not come from the operator's own file, and placeholders in it are refused.
type Environment = Readonly<Record<string, string | undefined>> | undefined

// A value and its position.
export type Place = {
  readonly node: Yaml.Node | null
  readonly key: string
  readonly line: number
  readonly file: YamlFile
}

type YamlFile = {
  readonly name: string
  readonly env: Environment
  // `kept` reads what may be stored: a value with a placeholder stays as written, and is not checked.
  readonly placeholders: 'filled' | 'kept'
  readonly meanings: ReadonlyMap<Yaml.Alias, Yaml.Node>
  readonly yaml: typeof Yaml
  lineOf(node: Yaml.Node | null, otherwise: number): number
}

export type Fields = {
  optional<T>(name: string, read: (place: Place) => T, otherwise: T): T
  need(name: string): Place
}

export function openYaml(name: string, text: string, env: Environment): Place {
  const yaml = loadYaml()
  const lines = new yaml.LineCounter()
  // The parser's own check for duplicate keys compares each with all others; readFields and readMapping do it.
  const document = yaml.parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
    version: '1.2',
  })
  const flaw = document.errors[0] ?? document.warnings[0]
  if (flaw !== undefined) throw new BadConfig(`${name}:${lineAt(lines, flaw.pos[0])}: ${flaw.message}`)
  const meanings = meaningsOf(document, yaml, (alias, why) => {
    const line = lineAt(lines, alias.range?.[0] ?? 0)
    throw new BadConfig(`${name}:${line}: ${why}`)
  })
  try {
    document.toJS({ maxAliasCount: BOUNDS.configAliasesMax })
  } catch {
    throw new BadConfig(`${name}: aliases repeat too much (at most ${BOUNDS.configAliasesMax})`)
  }

  const lineOf = (node: Yaml.Node | null, otherwise: number) => (node?.range ? lineAt(lines, node.range[0]) : otherwise)
  const file: YamlFile = { name, env, placeholders: 'filled', meanings, yaml, lineOf }
  return { node: document.contents, key: '', line: lineOf(document.contents, 1), file }
}

// A document that is already parsed, such as a request body, without lines and without a YAML parser.
export function openValue(value: unknown): Place {
  const yaml = loadYaml()
  const node = new yaml.Document(value, { aliasDuplicateObjects: false }).contents
  // A number is read as written, which is how JSON writes it.
  yaml.visit(node, {
    Scalar(_key, scalar) {
      if (typeof scalar.value === 'number') scalar.source = JSON.stringify(scalar.value)
    },
  })
  const file: YamlFile = {
    name: '',
    env: undefined,
    placeholders: 'filled',
    meanings: new Map(),
    yaml,
    lineOf: () => 1,
  }
  return { node, key: '', line: 1, file }
}

// The same node, read with its placeholders unresolved.
export function kept(place: Place): Place {
  return { ...place, file: { ...place.file, placeholders: 'kept' } }
}

// For names and choices, which are public: their placeholders are resolved wherever they are read.
export function filled(place: Place): Place {
  return { ...place, file: { ...place.file, placeholders: 'filled' } }
}

export function isUnfilled(text: string, { file }: Place): boolean {
  return file.placeholders === 'kept' && text.includes('${')
}

export function fail(place: Place, problem: string, isMissing = false): never {
  const { key, line, file } = place
  throw new BadConfig(`${file.name}:${line}: ${key === '' ? '' : `${key}: `}${problem}`, { key, problem, isMissing })
}

// The entries of a mapping. An unknown key is refused: a typing error must not become a default.
export function readFields(place: Place, known: readonly string[]): Fields {
  const { isMap, isScalar } = place.file.yaml
  const node = resolve(place)
  if (!isMap(node)) fail(place, 'must be a mapping of keys to values')
  const entries = new Map<string, Place>()
  for (const pair of node.items as Yaml.Pair<Yaml.Node, Yaml.Node | null>[]) {
    const name = isScalar(pair.key) ? String(pair.key.value) : '?'
    const key = place.key === '' ? name : `${place.key}.${name}`
    const line = place.file.lineOf(pair.key, place.line)
    const entry = { node: pair.value, key, line: place.file.lineOf(pair.value, line), file: place.file }
    if (!known.includes(name)) fail({ ...entry, line }, `is not a known key here; known are ${known.join(', ')}`)
    if (entries.has(name)) fail({ ...entry, line }, 'is given twice; keys must be unique')
    entries.set(name, entry)
  }
  return {
    optional(name, read, otherwise) {
      const entry = entries.get(name)
      return entry === undefined ? otherwise : read(entry)
    },
    need: name =>
      entries.get(name) ??
      fail({ ...place, key: place.key === '' ? name : `${place.key}.${name}` }, 'is missing', true),
  }
}

// A mapping whose names are the operator's own.
export function readMapping(place: Place, max: number): readonly { readonly name: string; readonly place: Place }[] {
  const { isMap, isScalar } = place.file.yaml
  const node = resolve(place)
  if (!isMap(node)) fail(place, 'must be a mapping of names to values')
  if (node.items.length > max) fail(place, `has more than ${max} entries`)
  const names = new Set<string>()
  return (node.items as Yaml.Pair<Yaml.Node, Yaml.Node | null>[]).map(pair => {
    const name = isScalar(pair.key) ? String(pair.key.value) : '?'
    const line = place.file.lineOf(pair.value, place.file.lineOf(pair.key, place.line))
    const entry = { node: pair.value, key: `${place.key}.${name}`, line, file: place.file }
    if (names.has(name)) fail(entry, 'is given twice; keys must be unique')
    names.add(name)
    return { name, place: entry }
  })
}

export function readList(place: Place, max: number): readonly Place[] {
  const node = resolve(place)
  if (!place.file.yaml.isSeq<Yaml.Node>(node)) fail(place, 'must be a list')
  if (node.items.length > max) fail(place, `has more than ${max} entries`)
  return node.items.map((item, index) => ({
    node: item,
    key: `${place.key}[${index}]`,
    line: place.file.lineOf(item, place.line),
    file: place.file,
  }))
}

export function readText(place: Place, max = 256): string {
  const { value } = scalar(place)
  if (typeof value !== 'string') fail(place, 'must be text (put it in quotes)')
  const text = interpolate(value, place)
  if (isUnfilled(text, place)) return text
  if (text.length > max) fail(place, `is longer than ${max} characters`)
  if (/\p{Cc}/u.test(text) || !text.isWellFormed()) fail(place, 'contains control characters')
  return text
}

export function readTexts(place: Place, max: number): readonly string[] {
  return readList(place, max).map(entry => readName(entry, /^.+$/u, 'must not be empty'))
}

export function readName(place: Place, pattern: RegExp, rule: string): string {
  const text = readText(place)
  return isUnfilled(text, place) || pattern.test(text) ? text : fail(place, rule)
}

export function readChoice<T extends string>(place: Place, choices: readonly T[]): T {
  const text = readText(filled(place))
  return choices.find(choice => choice === text) ?? fail(place, `must be one of ${choices.join(', ')}`)
}

export function readInteger(place: Place, min: number, max: number): number {
  const { value } = scalar(place)
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max) {
    fail(place, `must be a whole number from ${min} to ${max}`)
  }
  return value
}

// Seconds in the file, possibly with a fraction; milliseconds inside.
export function readSeconds(place: Place, max: number): number {
  const { value } = scalar(place)
  if (typeof value !== 'number' || !(value >= 0) || value > max) fail(place, `must be seconds, from 0 to ${max}`)
  return Math.round(value * 1000)
}

export function readFlag(place: Place): boolean {
  const { value } = scalar(place)
  return typeof value === 'boolean' ? value : fail(place, 'must be true or false')
}

// A decimal as written, quoted or not: the parser's float is never used.
export function readDecimal(place: Place): string {
  const { value, source } = scalar(place)
  if (typeof value === 'string') return interpolate(value, filled(place))
  return typeof value === 'number' && source !== undefined ? source : fail(place, 'must be a decimal number')
}

export function isNull(place: Place): boolean {
  const node = resolve(place)
  return node === null || (place.file.yaml.isScalar(node) && node.value === null)
}

function scalar(place: Place): Yaml.Scalar {
  const node = resolve(place)
  return place.file.yaml.isScalar(node) ? node : fail(place, 'must be a single value')
}

function interpolate(text: string, place: Place): string {
  const { env } = place.file
  if (isUnfilled(text, place)) return text
  return text.replace(/\$\{([^{}]*)\}/g, (_, name: string) => {
    if (env === undefined) fail(place, 'must not hold a placeholder: those are for the configuration file alone')
    if (!/^[A-Za-z_]\w*$/.test(name)) fail(place, 'has a placeholder that names no variable')
    return env[name] ?? fail(place, `the environment variable ${name} is not set`)
  })
}

function resolve({ node, file }: Place): Yaml.Node | null {
  return file.yaml.isAlias(node) ? (file.meanings.get(node) ?? null) : node
}

// The node that each alias refers to: the last one of that name before it. One pass for all of them.
function meaningsOf(
  document: Yaml.Document,
  yaml: typeof Yaml,
  refuse: (alias: Yaml.Alias, why: string) => never,
): ReadonlyMap<Yaml.Alias, Yaml.Node> {
  const anchors = new Map<string, Yaml.Node>()
  const meanings = new Map<Yaml.Alias, Yaml.Node>()
  yaml.visit(document, {
    Node(_key, node) {
      if (!yaml.isAlias(node)) {
        const { anchor } = node as { readonly anchor?: string }
        if (anchor !== undefined) anchors.set(anchor, node)
        return
      }
      const meant = anchors.get(node.source)
      if (meant === undefined) refuse(node, `the alias *${node.source} is not defined before it is used`)
      if (meanings.size >= BOUNDS.configAliasesInAllMax) {
        refuse(node, `there are more than ${BOUNDS.configAliasesInAllMax} aliases`)
      }
      meanings.set(node, meant)
    },
  })
  return meanings
}

// On first use: a start without a file should not pay for the parser.
function loadYaml(): typeof Yaml {
  return createRequire(import.meta.url)('yaml') as typeof Yaml
}

function lineAt(lines: Yaml.LineCounter, offset: number): number {
  return Math.max(1, lines.linePos(offset).line)
}
