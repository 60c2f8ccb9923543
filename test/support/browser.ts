// A real browser in front of the real gateway: the machine's Chromium (or Debian's package, where installing is
// allowed), driven by playwright-core, recording everything that a page should not do.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import type { AxeResults, RunOptions } from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { DASHBOARD, isCurrent } from '../../bin/freshness.js'
import { chromiumPath, installChromium } from './chromium.ts'

const ROOT = join(import.meta.dirname, '../..')
// Loaded into a page once, and smaller than the package's main file: loading it takes as long as its checks.
const AXE = readFileSync(join(ROOT, 'node_modules/axe-core/axe.min.js'), 'utf8')
export const SCREENSHOTS = join(ROOT, '.screenshots')

// It makes no requests by itself, so that all traffic comes from the page.
const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
]

// Never missing if CI is set: there a missing browser fails the tests.
export function hasBrowser(): boolean {
  if (chromiumPath() !== undefined || (installChromium() && chromiumPath() !== undefined) || process.env.CI) return true
  process.stderr.write('\nChromium is not installed: THE DASHBOARD IS NOT TESTED\n\n')
  return false
}

let launched: Promise<Browser> | undefined
after(async () => (await launched)?.close())

// One Chromium for all tests of a file: starting it costs more than most tests. At the end of a test its pages and profiles are
// closed.
export async function openBrowser(): Promise<Browser & AsyncDisposable> {
  launched ??= launch()
  const browser = await launched
  return Object.assign(browser, {
    async [Symbol.asyncDispose]() {
      await Promise.all(browser.contexts().map(context => context.close()))
    },
  })
}

async function launch(): Promise<Browser> {
  const executablePath = chromiumPath()
  if (executablePath === undefined) throw new Error('Chromium is not installed')
  buildDashboard()
  return chromium.launch({ executablePath, args: ARGS })
}

export type Screen = 'desktop' | 'phone'
// A desktop is tested in light and in dark mode, one after the other on the same page.
export type Look = 'light' | 'dark' | 'phone'
export const LOOKS: Readonly<Record<Screen, readonly Look[]>> = { desktop: ['light', 'dark'], phone: ['phone'] }

const SCREENS: Readonly<Record<Screen, BrowserContextOptions>> = {
  desktop: { viewport: { width: 1440, height: 900 } },
  phone: { viewport: { width: 390, height: 844 }, hasTouch: true },
}

export type Visit = {
  readonly page: Page
  // Console errors, exceptions, and requests to any host but the gateway, as text.
  readonly complaints: string[]
  open(path: string): Promise<void>
  // The session alone, as the form would open it: most tests then open another page.
  signIn(token: string): Promise<void>
  signInByForm(token: string): Promise<void>
}

// A fresh profile.
export async function visit(
  browser: Browser,
  url: string,
  screen: Screen = 'desktop',
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({
    ...SCREENS[screen],
    colorScheme: 'light',
    reducedMotion: 'reduce',
    locale: 'en-US',
    ...options,
  })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', message => void (message.type() === 'error' && complaints.push(`console: ${message.text()}`)))
  page.on('pageerror', error => complaints.push(`exception: ${error.message}`))
  page.on('request', request => {
    if (!request.url().startsWith(`${url}/`) && !/^(data|blob):/.test(request.url())) {
      complaints.push(`asked elsewhere: ${request.url()}`)
    }
  })
  return {
    page,
    complaints,
    async open(path) {
      await page.goto(url + path)
      await page.locator('h1').first().waitFor()
    },
    async signIn(token) {
      const response = await context.request.post(`${url}/admin/v1/session`, { data: { token } })
      if (response.status() !== 201) throw new Error(`signing in returned ${response.status()}`)
      // The page asks for a session only where one was opened.
      await context.addInitScript(`localStorage.setItem('turnpike-session', '1')`)
    },
    async signInByForm(token) {
      await page.goto(`${url}/`)
      await page.getByLabel('Operator token', { exact: true }).fill(token)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    },
  }
}

// As if the system had switched to light or dark mode meanwhile.
export async function lookAt(page: Page, look: Look): Promise<void> {
  const colorScheme = look === 'dark' ? 'dark' : 'light'
  await page.emulateMedia({ colorScheme })
  await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor()
}

// Accessibility violations, one line each.
export async function barriers(page: Page, look: Look): Promise<readonly string[]> {
  if (!(await page.evaluate("typeof axe === 'object'"))) await page.evaluate(AXE)
  // The same page in dark mode differs only in its colours. Without a list of passed checks, which takes a third of the time.
  const runOnly = look === 'dark' ? { runOnly: ['color-contrast'] } : {}
  const options = JSON.stringify({ resultTypes: ['violations'], ...runOnly } satisfies RunOptions)
  const { violations } = await page.evaluate<AxeResults>(`axe.run(document, ${options})`)
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(node => node.html.slice(0, 160)).join(' | ')}`)
}

// Builds it when it is missing or stale. Processes that need it at the same time wait for each other.
function buildDashboard(): void {
  if (isCurrent(ROOT, DASHBOARD)) return
  const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'bin/build.js')])
  if (status !== 0) throw new Error(`the dashboard cannot be built: ${stderr}`)
}
