// The page at /docs: the OpenAPI document for people, in one file without scripts or anything loaded from elsewhere.

import type { Brand, OpenApi } from './document.ts'
import { type Chapter, guide } from './html/guide.ts'
import { html, type Markup, prose } from './html/html.ts'
import { operationSection, type Placed } from './html/operation.ts'
import { errorsChapter, headersChapter, schemasSection } from './html/reference.ts'
import { STYLE } from './html/style.ts'
import { openApiDocument } from './openapi.ts'

const built = new Map<OpenApi, string>()

// Built once, as the document is.
export function docsPage(brand: Brand): string {
  const document = openApiDocument(brand)
  const page = built.get(document) ?? build(document, brand)
  built.set(document, page)
  return page
}

function build(document: OpenApi, brand: Brand): string {
  const { title, summary, description } = document.info
  const chapters = [...guide(brand), headersChapter(document), errorsChapter(document)]
  const groups = groupsOf(document)
  const links = contents(chapters, groups)
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} API</title>
<style>${STYLE}</style>
</head>
<body>
<a class="skip" href="#main">To the content</a>
<nav class="side" aria-label="Contents"><a class="brand" href="#top">${title} <span>API v1</span></a>
${links}</nav>
<details class="menu" id="contents"><summary>${title} <span>API v1</span></summary><nav aria-label="Contents">
${links}</nav></details>
<main id="main">
<header id="top">
<h1>${title} API</h1>
<p class="lead">${summary}</p>
<p>${prose(description)} Machines read <a href="/openapi.json"><code>/openapi.json</code></a>.</p>
</header>
${chapters.map(({ id, title, body }) => html`<section id="${id}">\n<h2>${title}</h2>\n${body}\n</section>\n`)}
${groups.map(group => groupSection(group, document))}
${schemasSection(document)}
</main>
<a class="up" href="#contents" aria-label="To the contents">↑</a>
</body>
</html>
`.markup
}

type Group = {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly operations: readonly Placed[]
}

function groupsOf({ tags, paths }: OpenApi): readonly Group[] {
  const all = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  )
  return tags.map(({ name, description }) => ({
    id: `group-${name.toLowerCase().replace(/\W+/g, '-')}`,
    name,
    description,
    operations: all.filter(({ operation }) => operation.tags.includes(name)),
  }))
}

function groupSection({ id, name, description, operations }: Group, document: OpenApi): Markup {
  return html`<section id="${id}">
<h2>${name}</h2>
<p>${prose(description)}</p>
${operations.map(placed => operationSection(placed, document))}</section>
`
}

function contents(chapters: readonly Chapter[], groups: readonly Group[]): Markup {
  const link = (href: string, text: string | Markup) => html`<li><a href="#${href}">${text}</a></li>\n`
  const call = ({ operation, method, path }: Placed) =>
    link(
      `op-${operation.operationId}`,
      html`<span class="method ${method}">${method.toUpperCase()}</span> ${shortPath(path)}`,
    )
  return html`<p>Guide</p>
<ul>${chapters.map(({ id, title }) => link(id, title))}</ul>
${groups.map(({ name, operations }) => html`<p>${name}</p>\n<ul class="calls">${operations.map(call)}</ul>\n`)}<p>Reference</p>
<ul>${link('schemas', 'Schemas')}</ul>
`
}

// Long paths may break after a slash.
function shortPath(path: string): Markup {
  const steps = path
    .replace(/^\/(?:admin\/)?v1/, '')
    .split('/')
    .slice(1)
  return html`<span>${steps.map(step => html`/<wbr>${step}`)}</span>`
}
