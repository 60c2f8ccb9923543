// One operation of the OpenAPI document as a section of the page: what it takes, what it answers, how it refuses.
import type { Media, OpenApi, Operation, Parameter, Response, Schema } from '../document.ts'
import { curlOf } from '../snippets.ts'
import { type Column, codeBlock, html, joined, type Markup, NOTHING, prose, table } from './html.ts'
import { meaningOf, type Side, schemaTable, typeOf } from './schema.ts'

const PARAMETERS: readonly Column[] = [
  { title: 'Parameter', kind: 'name' },
  { title: 'Type', kind: 'type' },
  { title: 'Meaning', kind: 'text' },
]
const ERRORS: readonly Column[] = [
  { title: 'Status', kind: 'short' },
  { title: 'Codes', kind: 'text' },
]

export type Placed = { readonly path: string; readonly method: string; readonly operation: Operation }

export function operationSection(placed: Placed, document: OpenApi): Markup {
  const { path, method, operation } = placed
  const { operationId, summary, description, parameters = [], requestBody } = operation
  return html`<section class="op" id="op-${operationId}">
<h3><span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code></h3>
<p class="needs">${needs(operation)}</p>
<p><strong>${summary}.</strong> ${prose(description ?? '')}</p>
${codeBlock(curlOf(placed), `curl for ${summary}`)}
${parameters.length === 0 ? NOTHING : html`<h4>Parameters</h4>\n${table(PARAMETERS, parameters.map(parameterRow))}`}
${requestBody === undefined ? NOTHING : html`<h4>Request body</h4>\n${Object.values(requestBody.content).map(media => fields(media, 'asked', document))}`}
<h4>Answer</h4>
${answersOf(operation, document).map(([status, answer]) => answerPart(status, answer, document))}
${errorsPart(operation, document)}
</section>
`
}

const NEEDED: Readonly<Record<string, string>> = {
  apiKey: 'With a key.',
  adminToken: 'With the admin token.',
  metricsToken: 'With the metrics token, or from the machine itself.',
}

function needs({ security }: Operation): string {
  return NEEDED[Object.keys(security[0] ?? {})[0] ?? ''] ?? 'No key needed.'
}

function parameterRow({ name, in: place, required, description, schema }: Parameter) {
  const label = html`<code>${name}</code> <span class="place">${place}</span>${required ? html` <span class="must">required</span>` : NOTHING}`
  return { cells: [label, typeOf(schema), meaningOf(schema, description)] }
}

function fields(media: Media, side: Side, document: OpenApi): Markup {
  const schema = resolved(media.schema ?? {}, document)
  return html`${schema.description === undefined ? NOTHING : html`<p>${prose(schema.description)}</p>`}${schemaTable(schema, side)}`
}

function answerPart(status: string, answer: Response, document: OpenApi): Markup {
  const media = Object.entries(answer.content ?? {})
  return html`<p><span class="status ok">${status}</span> ${prose(answer.description)}</p>
${media.map(([type, body]) => mediaPart(type, body, document))}${headersPart(answer)}`
}

function mediaPart(type: string, media: Media, document: OpenApi): Markup {
  const schema = media.schema?.contentSchema ?? media.schema ?? {}
  if (schema.$ref === undefined && schema.properties === undefined)
    return html`<p class="media"><code>${type}</code></p>`
  const what = schema.$ref === undefined ? NOTHING : html` ${schema.$ref.split('/').at(-1) ?? ''}`
  const { example } = media
  const shown = typeof example === 'string' ? example : JSON.stringify(example, null, 2)
  return html`<details><summary><code>${type}</code>${what}</summary>
${example === undefined ? NOTHING : codeBlock(shown, 'Example')}
${fields({ schema }, 'answered', document)}</details>
`
}

function headersPart({ headers = {} }: Response): Markup {
  const links = Object.keys(headers).map(name => html`<a href="#header-${name}"><code>${name}</code></a>`)
  return links.length === 0
    ? NOTHING
    : html`<details><summary>Headers</summary><p class="either">${joined(links, ' ')}</p></details>\n`
}

function errorsPart(operation: Operation, document: OpenApi): Markup {
  const rows = responsesOf(operation, document)
    .map(([status, { content = {} }]) => [status, Object.keys(content['application/json']?.examples ?? {})] as const)
    .filter(([, codes]) => codes.length > 0)
    .map(([status, codes]) => {
      const links = codes.map(code => html`<a href="#error-${code}"><code>${code}</code></a>`)
      return { cells: [html`<span class="status">${status}</span>`, joined(links, ' ')] }
    })
  return rows.length === 0 ? NOTHING : html`<h4>Errors</h4>\n${table(ERRORS, rows)}`
}

// Everything but errors in their one shape.
function answersOf(operation: Operation, document: OpenApi): [string, Response][] {
  return responsesOf(operation, document).filter(
    ([, { content }]) => content?.['application/json']?.examples === undefined,
  )
}

function responsesOf({ responses }: Operation, { components }: OpenApi): [string, Response][] {
  return Object.entries(responses).flatMap(([status, response]) => {
    const found = '$ref' in response ? components.responses[response.$ref.split('/').at(-1) ?? ''] : response
    return found === undefined ? [] : [[status, found] as [string, Response]]
  })
}

function resolved(schema: Schema, { components }: OpenApi): Schema {
  return schema.$ref === undefined ? schema : (components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {})
}
