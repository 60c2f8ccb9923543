// The tables of the page at /docs that belong to no single operation: headers, errors, schemas.
import { REFUSALS } from '../../../domain/refusal.ts'
import type { OpenApi, Schema } from '../document.ts'
import { ERROR_CODES } from '../errors.ts'
import type { Chapter } from './guide.ts'
import { codeBlock, html, type Markup, NOTHING, prose, table } from './html.ts'
import { schemaTable } from './schema.ts'

export function headersChapter({ components }: OpenApi): Chapter {
  const rows = Object.entries(components.headers).map(([name, { description, example }]) => ({
    id: `header-${name}`,
    cells: [
      html`<code>${name}</code>`,
      prose(description),
      example === undefined ? NOTHING : html`<code>${example}</code>`,
    ],
  }))
  const columns = [
    { title: 'Header', kind: 'name' },
    { title: 'Meaning', kind: 'text' },
    { title: 'Example', kind: 'type' },
  ] as const
  const intro = html`<p>Every answer under <code>/v1</code>, whatever its status, carries the request id, the cost and the rate-limit figures.</p>\n`
  return { id: 'headers', title: 'Response headers', body: html`${intro}${table(columns, rows)}` }
}

export function errorsChapter({ components }: OpenApi): Chapter {
  const rows = ERROR_CODES.map(code => {
    const { status, type, message } = REFUSALS[code]
    return {
      id: `error-${code}`,
      cells: [html`<code>${code}</code>`, html`<span class="status">${status}</span> ${type}`, prose(message)],
    }
  })
  const columns = [
    { title: 'Code', kind: 'name' },
    { title: 'Status and type', kind: 'type' },
    { title: 'Meaning', kind: 'text' },
  ] as const
  const example = JSON.stringify(components.examples.rate_limit_exceeded?.value, null, 2)
  const body = html`<p>${prose('One shape for all, which OpenAI SDKs turn into their typed errors. Refusals come in the order of this table: the first that applies is the one you get. The last three are those of the admin API alone.')}</p>
${codeBlock(example, 'An error')}
${table(columns, rows)}`
  return { id: 'errors', title: 'Errors', body }
}

export function schemasSection(document: OpenApi): Markup {
  const asked = askedNames(document)
  // The anchor is inside, since only then does a browser open the details around it.
  const one = ([name, schema]: [
    string,
    Schema,
  ]) => html`<details><summary>${name}</summary><div class="anchor" id="schema-${name}">
${schema.description === undefined ? NOTHING : html`<p>${prose(schema.description)}</p>\n`}${schemaTable(schema, asked.has(name) ? 'asked' : 'answered')}</div></details>
`
  return html`<section id="schemas">\n<h2>Schemas</h2>\n${Object.entries(document.components.schemas).map(one)}</section>`
}

// What request bodies refer to, however indirectly; the set grows while it is walked.
function askedNames({ paths, components }: OpenApi): Set<string> {
  const refsIn = (value: unknown) =>
    [...JSON.stringify(value).matchAll(/#\/components\/schemas\/(\w+)/g)].map(found => found[1] ?? '')
  const bodies = Object.values(paths).flatMap(item => Object.values(item).map(({ requestBody }) => requestBody ?? null))
  const names = new Set(refsIn(bodies))
  for (const name of names) for (const inner of refsIn(components.schemas[name] ?? {})) names.add(inner)
  return names
}
