// Parses YAML into plain values, with `${VAR}` resolved from the environment and also as written, and gives every fault its file,
// line and column. A message repeats no value that may be a secret, only ids, names and address ranges.
import { createRequire } from 'node:module'
import type * as Yaml from 'yaml'
import { type Fault, invalidField, type JsonSchema, type Path, schemaBelow, withoutNull } from '../lib/schema-fault.ts'
import { BadConfig, type Problem } from './bad-config.ts'
import { BOUNDS } from './limits.ts'

export type YamlFile = {
  // With each placeholder replaced by its variable.
  readonly resolved: unknown
  // With placeholders unresolved: what may be stored.
  readonly raw: unknown
  // Of names that are given twice, and of placeholders.
  readonly faults: readonly Fault[]
  // The fault with its position.
  problemOf(fault: Fault): Problem
}

type YamlOptions = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly schema: JsonSchema
  // Whether numbers there are read as text, with the digits as written.
  isDecimal(schema: JsonSchema): boolean
}

export function openYaml(name: string, text: string, { env, schema, isDecimal }: YamlOptions): YamlFile {
  const source = parse(name, text)
  const faults: Fault[] = []
  const resolve = (value: string, path: Path) =>
    resolvePlaceholders(value, env, why => void faults.push(invalidField(path, why)))
  const read = (texts: (text: string, path: Path) => string, report: (fault: Fault) => void) =>
    readNode(source.root, { path: [], schema, source, isDecimal, texts, report })
  const resolved = read(resolve, fault => void faults.push(fault))
  return {
    resolved,
    raw: read(
      text => text,
      () => undefined,
    ),
    faults,
    problemOf(fault) {
      const key = fault.path.map((step, at) => (typeof step === 'number' ? `[${step}]` : at === 0 ? step : `.${step}`))
      const message = key.length === 0 ? fault.problem : `${key.join('')}: ${fault.problem}`
      return { ...source.positionOf(fault), message }
    },
  }
}

// Of a file that is no YAML; most follow from the first.
const FLAWS_MAX = 5

type YamlNode = Yaml.Node | null
type Pair = Yaml.Pair<Yaml.Node, YamlNode>

type Position = Required<Pick<Problem, 'file' | 'line' | 'column'>>

type Source = {
  readonly yaml: typeof Yaml
  readonly root: YamlNode
  // The node that an alias refers to; any other node is itself.
  follow(node: YamlNode): YamlNode
  // The position of the value, of the name where that is not known, and of the parent where it is missing.
  positionOf(fault: Pick<Fault, 'path' | 'kind'>): Position
}

function parse(name: string, text: string): Source {
  const yaml = loadYaml()
  const lines = new yaml.LineCounter()
  const at = (offset: number): Position => {
    const { line, col } = lines.linePos(offset)
    return { file: name, line: Math.max(1, line), column: Math.max(1, col) }
  }
  // The parser's own check for duplicate keys compares each with all others.
  const document = yaml.parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
    version: '1.2',
  })
  const flaws = [...document.errors, ...document.warnings].slice(0, FLAWS_MAX)
  if (flaws.length > 0) throw new BadConfig(flaws.map(({ pos, message }) => ({ ...at(pos[0]), message })))
  const meanings = meaningsOf(document, yaml, (alias, why) => {
    throw new BadConfig([{ ...at(alias.range?.[0] ?? 0), message: why }])
  })
  try {
    document.toJS({ maxAliasCount: BOUNDS.configAliasesMax })
  } catch {
    throw new BadConfig(`${name}: aliases repeat too much (at most ${BOUNDS.configAliasesMax})`)
  }

  const follow = (node: YamlNode) => (yaml.isAlias(node) ? (meanings.get(node) ?? null) : node)
  const root = document.contents
  return {
    yaml,
    root,
    follow,
    positionOf({ path, kind }) {
      let found: YamlNode = root
      for (const [index, step] of path.entries()) {
        const isLast = index === path.length - 1
        const next = below({ yaml, follow }, found, step, isLast && kind === 'unknown' ? 'key' : 'value')
        if (next === undefined) break
        found = next
      }
      return at(found?.range?.[0] ?? 0)
    },
  }
}

// Of a list an entry, of a mapping the value or key of the last pair of this name; the key too where there is no value.
function below(
  { yaml, follow }: Pick<Source, 'yaml' | 'follow'>,
  node: YamlNode,
  step: string | number,
  part: 'key' | 'value',
) {
  const parent = follow(node)
  if (typeof step === 'number') return yaml.isSeq<Yaml.Node>(parent) ? parent.items[step] : undefined
  if (!yaml.isMap(parent)) return undefined
  const pair = (parent.items as Pair[]).findLast(each => nameOf(each, yaml) === step)
  return part === 'key' ? pair?.key : (pair?.value ?? pair?.key)
}

function nameOf({ key }: Pair, yaml: typeof Yaml): string {
  return yaml.isScalar(key) ? String(key.value) : '?'
}

type Reading = Pick<YamlOptions, 'isDecimal'> & {
  readonly path: Path
  readonly schema: JsonSchema | undefined
  readonly source: Source
  texts(text: string, path: Path): string
  report(fault: Fault): void
}

function readNode(node: YamlNode, reading: Reading): unknown {
  const { source, path, schema } = reading
  const { isMap, isSeq, isScalar } = source.yaml
  const found = source.follow(node)
  const inside = (step: string | number) => ({ ...reading, path: [...path, step], schema: schemaBelow(schema, step) })
  if (isMap(found)) {
    const members = new Map<string, unknown>()
    for (const pair of found.items as Pair[]) {
      const name = nameOf(pair, source.yaml)
      if (members.has(name))
        reading.report({ path: [...path, name], kind: 'unknown', problem: 'is given twice; keys must be unique' })
      members.set(name, readNode(pair.value, inside(name)))
    }
    return Object.fromEntries(members)
  }
  if (isSeq<Yaml.Node>(found)) return found.items.map((item, index) => readNode(item, inside(index)))
  if (!isScalar(found)) return null
  if (typeof found.value === 'string') return reading.texts(found.value, path)
  const wanted = schema && withoutNull(schema)
  const isDecimal = typeof found.value === 'number' && wanted !== undefined && reading.isDecimal(wanted)
  return isDecimal ? (found.source ?? found.value) : found.value
}

function resolvePlaceholders(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
  report: (why: string) => void,
): string {
  return text.replace(/\$\{([^{}]*)\}/g, (_, name: string) => {
    const isName = /^[A-Za-z_]\w*$/.test(name)
    const value = isName ? env[name] : undefined
    if (value === undefined)
      report(isName ? `the environment variable ${name} is not set` : 'has a placeholder that names no variable')
    return value ?? ''
  })
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
