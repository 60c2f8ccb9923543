// Schemas as tables: one row a field, nested objects under their path, named schemas as links.
import type { Schema } from '../document.ts'
import { type Column, html, joined, type Markup, NOTHING, prose, table } from './html.ts'

const COLUMNS: readonly Column[] = [
  { title: 'Field', kind: 'name' },
  { title: 'Type', kind: 'type' },
  { title: 'Meaning', kind: 'text' },
]
const DEPTH_MAX = 4

// Of a request the required fields are marked, of an answer those that may be absent.
export type Side = 'asked' | 'answered'

export function schemaTable(schema: Schema, side: Side): Markup {
  const rows = rowsOf(schema, '', { side, depth: 0 })
  if (rows.length > 0) return table(COLUMNS, rows)
  if (schema.type === 'object') return html`<p>An empty object.</p>`
  return html`<p class="either">${typeOf(schema)}</p>`
}

export function typeOf(schema: Schema): Markup {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1) ?? ''
    return html`<a href="#schema-${name}">${name}</a>`
  }
  if (schema.anyOf !== undefined) return joined(schema.anyOf.map(typeOf), ' or ')
  if (schema.enum !== undefined)
    return joined(
      schema.enum.map(value => html`<code>${String(value)}</code>`),
      ' | ',
    )
  if (schema.const !== undefined) return html`<code>${String(schema.const)}</code>`
  if (schema.type === 'array') return html`array of ${typeOf(schema.items ?? {})}`
  return html`${schema.type ?? 'anything'}`
}

// What the type does not say: the sentence, the bounds, the default.
export function meaningOf(schema: Schema, description = schema.description ?? bearing(schema).description): Markup {
  const notes = [
    ...boundsOf(bearing(schema)),
    ...(schema.default === undefined ? [] : [`default ${String(schema.default)}`]),
  ]
  const bounds = notes.length === 0 ? NOTHING : html` <span class="bounds">${notes.join(' · ')}</span>`
  return html`${prose(description ?? '')}${bounds}`
}

type Row = { readonly cells: readonly Markup[] }

function rowsOf(schema: Schema, path: string, at: { readonly side: Side; readonly depth: number }): Row[] {
  const { properties = {}, required = [] } = schema
  return Object.entries(properties).flatMap(([name, field]) => {
    const mark = markOf(at.side, required.includes(name))
    const label = html`<code>${path === '' ? NOTHING : html`<span class="path">${path}</span>`}${name}</code>${mark}`
    const nested = bearing(field)
    const inner = nested.type === 'array' ? bearing(nested.items ?? {}) : nested
    const deeper = at.depth < DEPTH_MAX && inner.properties !== undefined
    const below = deeper
      ? rowsOf(inner, `${path}${name}${nested.type === 'array' ? '[]' : ''}.`, { ...at, depth: at.depth + 1 })
      : []
    return [{ cells: [label, typeOf(field), meaningOf(field)] }, ...below]
  })
}

function markOf(side: Side, required: boolean): Markup {
  if (side === 'asked') return required ? html` <span class="must">required</span>` : NOTHING
  return required ? NOTHING : html` <span class="may">may be absent</span>`
}

// Of "this or null", this.
function bearing(schema: Schema): Schema {
  const real = schema.anyOf?.filter(({ type }) => type !== 'null') ?? []
  return real.length === 1 && real[0] !== undefined ? real[0] : schema
}

function boundsOf(schema: Schema): string[] {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = schema
  return [
    ...range(minimum, maximum, ''),
    ...range(minLength, maxLength, ' characters'),
    ...range(minItems, maxItems, ' items'),
  ]
}

function range(low: number | undefined, high: number | undefined, unit: string): string[] {
  const min =
    low === undefined || low <= Number.MIN_SAFE_INTEGER ? undefined : low.toLocaleString('en').replace('-', '−')
  const max =
    high === undefined || high >= Number.MAX_SAFE_INTEGER ? undefined : high.toLocaleString('en').replace('-', '−')
  if (min !== undefined && max !== undefined) return [min === max ? `${min}${unit}` : `${min} to ${max}${unit}`]
  if (min !== undefined) return low === 0 && unit === '' ? [] : [`at least ${min}${unit}`]
  return max === undefined ? [] : [`at most ${max}${unit}`]
}
