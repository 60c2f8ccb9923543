// Splits a TypeScript source without a compiler: its code, its code without the contents of strings, its comments, and
// its imports. Every part has the length and the lines of the whole, so that positions are the same in all.

export type SourceText = {
  // Without comments.
  readonly code: string
  // Without comments and without the contents of strings, templates and regular expressions.
  readonly bare: string
  readonly comments: string
}

export type Import = {
  readonly from: string
  readonly line: number
  // The names that exist at run time; undefined if the whole module is imported.
  readonly values: readonly string[] | undefined
}

export function takeApart(text: string): SourceText {
  const parts = { code: '', bare: '', comments: '' }
  for (const { kind, piece } of pieces(text)) {
    const blank = piece.replace(/[^\n]/g, ' ')
    parts.code += kind === 'comment' ? blank : piece
    parts.bare += kind === 'code' ? piece : blank
    parts.comments += kind === 'comment' ? piece : blank
  }
  return parts
}

export function importsOf(code: string): Import[] {
  const found: Import[] = []
  const statement = /(?<![.\w])(?:import|export)\b(?:([^'"`;]*?)\bfrom\s*|\s*\(\s*|\s*)(['"])([^'"\n]+)\2/g
  for (const match of code.matchAll(statement)) {
    found.push({ from: match[3] ?? '', line: lineAt(code, match.index), values: valuesOf(match[1]) })
  }
  return found
}

export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length
}

function valuesOf(clause: string | undefined): readonly string[] | undefined {
  if (clause === undefined) return undefined
  if (/^\s*type\b/.test(clause)) return []
  const inBraces = /^\s*\{([^}]*)\}\s*$/.exec(clause)?.[1]
  if (inBraces === undefined) return undefined
  const names = inBraces.split(',').map(name => name.trim())
  const values = names.filter(name => name !== '' && !name.startsWith('type '))
  return values.map(name => name.replace(/\s+as\s.*$/, ''))
}

type Piece = { readonly kind: 'code' | 'comment' | 'text'; readonly piece: string }

const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y
const QUOTED = /'(?:[^'\\\n]|\\[\s\S])*'?|"(?:[^"\\\n]|\\[\s\S])*"?/y
const REGEX = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y
const TEMPLATE = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*(?:`|\$\{|$)/y
const PLAIN = /[\w$]+|\s+|[\s\S]/y

// A slash begins a regular expression only where no value precedes it.
const VALUE = /^(?!(?:return|typeof|case|in|of|do|else|void|throw|yield|await)$)[\w$)\]}]+$/

function* pieces(text: string): Generator<Piece> {
  const templates: number[] = []
  let at = 0
  let depth = 0
  let before = ''
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const piece = pattern.exec(text)?.[0]
    if (piece !== undefined) at += piece.length
    return piece
  }
  const template = (): Piece => {
    const piece = take(TEMPLATE) ?? ''
    const goesOn = piece.endsWith('${')
    if (goesOn) templates.push(depth)
    before = goesOn ? '' : ')'
    return { kind: 'text', piece }
  }

  if (text.startsWith('#!')) yield { kind: 'comment', piece: take(/#![^\n]*/y) ?? '' }
  while (at < text.length) {
    const comment = take(COMMENT)
    if (comment !== undefined) {
      yield { kind: 'comment', piece: comment }
      continue
    }
    const literal = take(QUOTED) ?? (VALUE.test(before) ? undefined : take(REGEX))
    if (literal !== undefined) {
      before = ')'
      yield { kind: 'text', piece: literal }
      continue
    }
    const piece = take(PLAIN) ?? ''
    if (piece.trim() !== '') before = piece
    yield { kind: 'code', piece }
    if (piece === '{') depth += 1
    if (piece === '`') yield template()
    if (piece !== '}') continue
    if (templates.at(-1) === depth) {
      templates.pop()
      yield template()
    } else depth -= 1
  }
}
