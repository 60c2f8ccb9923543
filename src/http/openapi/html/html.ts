// Text into HTML, safely: whatever is put into a template is escaped, unless it is markup that was made here.

export type Markup = { readonly markup: string }
type Piece = string | number | Markup | readonly Markup[]

export const NOTHING: Markup = { markup: '' }

export function html(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Markup {
  return { markup: strings.map((text, i) => text + written(pieces[i] ?? '')).join('') }
}

// A sentence with `code` in it.
export function prose(text: string): Markup {
  return { markup: escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>') }
}

export function joined(pieces: readonly Markup[], between: string): Markup {
  return { markup: pieces.map(({ markup }) => markup).join(escaped(between)) }
}

export type Column = { readonly title: string; readonly kind: 'name' | 'short' | 'type' | 'text' }

// Column kinds tell the style what to do on a phone, where rows are stacked. The id makes a row something to link to.
export function table(
  columns: readonly Column[],
  rows: readonly { readonly id?: string; readonly cells: readonly Markup[] }[],
): Markup {
  const row = (id: string | undefined, cells: readonly Markup[]) =>
    html`<tr${id === undefined ? NOTHING : html` id="${id}"`}>${cells.map((cell, i) => html`<td class="${columns[i]?.kind ?? 'text'}">${cell}</td>`)}</tr>\n`
  return html`<table>
<thead><tr>${columns.map(({ title }) => html`<th scope="col">${title}</th>`)}</tr></thead>
<tbody>
${rows.map(({ id, cells }) => row(id, cells))}</tbody>
</table>`
}

// Scrolls sideways by itself, so it can be reached by keyboard too.
export function codeBlock(code: string, label: string): Markup {
  return html`<pre tabindex="0" aria-label="${label}"><code>${code.trimEnd()}</code></pre>`
}

function written(piece: Piece): string {
  if (typeof piece === 'string' || typeof piece === 'number') return escaped(String(piece))
  return 'markup' in piece ? piece.markup : piece.map(({ markup }) => markup).join('')
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, sign => ESCAPES[sign] ?? sign)
}
