// README and docs: every relative link leads to an existing file and heading, and every named source path exists.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')
const PAGES = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', ...pagesIn('docs')]

test('every link in README and docs leads to an existing file and heading', () => {
  assert.deepEqual(PAGES.flatMap(brokenLinks), [])
})

test('every source path in the table of the request lifecycle exists', () => {
  const page = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')
  const table = /^\| # \| step \|[\s\S]*?\n\n/m.exec(page)?.[0] ?? ''
  const paths = [...table.matchAll(/`([a-z0-9-]+\/[a-z0-9/.-]*)`/g)].map(([, path = '']) => path)

  assert.ok(paths.length > 20)
  assert.deepEqual(
    paths.filter(path => !existsSync(join(ROOT, 'src', path))),
    [],
  )
})

test('a missing file and a missing heading are found', () => {
  assert.deepEqual(
    brokenIn('docs/a.md', 'See [b](no-such-page.md), [c](#no-such-heading) and [d](https://e.example).'),
    ['docs/a.md: no-such-page.md', 'docs/a.md: #no-such-heading'],
  )
})

function pagesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap(entry => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? pagesIn(path) : entry.name.endsWith('.md') ? [path] : []
  })
}

function brokenLinks(page: string): string[] {
  return brokenIn(page, readFileSync(join(ROOT, page), 'utf8'))
}

function brokenIn(page: string, text: string): string[] {
  const links = [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
  return links.filter(link => !/^[a-z]+:/.test(link) && !leads(page, text, link)).map(link => `${page}: ${link}`)
}

function leads(page: string, text: string, link: string): boolean {
  const [path = '', heading] = link.split('#')
  const file = path === '' ? page : relative('.', normalize(join(dirname(page), path)))
  if (path !== '' && !existsSync(join(ROOT, file))) return false
  if (heading === undefined) return true
  return headingsOf(path === '' ? text : readFileSync(join(ROOT, file), 'utf8')).has(heading)
}

// As GitHub generates them: lower case, spaces to dashes, other characters dropped.
function headingsOf(text: string): ReadonlySet<string> {
  const titles = [...withoutCode(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, title = '']) => title)
  return new Set(
    titles.map(title =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replace(/\s/g, '-'),
    ),
  )
}

function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, '')
}
