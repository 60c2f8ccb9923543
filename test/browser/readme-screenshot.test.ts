// The screenshot of the README: the overview of a seeded gateway. Every run takes it, and with README_SCREENSHOT=1 it replaces the
// one in docs/images.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFile, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { hasBrowser, openBrowser, SCREENSHOTS, visit } from '../support/browser.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startGateway } from '../support/gateway.ts'

const ROOT = join(import.meta.dirname, '../..')
const SHOWN = join(ROOT, 'docs/images/dashboard.png')
const TAKEN = join(SCREENSHOTS, 'readme.png')
const [WIDTH, HEIGHT] = [1440, 900]
// Full charts for the README; a tenth of the rows draws them too, and is seeded in a second.
const ROWS = process.env.README_SCREENSHOT === '1' ? 60_000 : 6000

test("the README's screenshot is the overview of a seeded gateway", { skip: !hasBrowser() }, async () => {
  await using folder = await temporaryFolder()
  const dataDir = join(folder.path, 'data')
  const seed = ['bench/seed.ts', '--rows', String(ROWS), '--days', '60', '--data-dir', dataDir]
  await promisify(execFile)(process.execPath, seed, { cwd: ROOT })
  await using gateway = await startGateway({ dataDir })
  await using browser = await openBrowser()
  const { page, open, signIn, complaints } = await visit(browser, gateway.url)
  await signIn(gateway.adminToken)

  await open('/overview?range=30d')
  await page.getByText(/need attention|Needs attention/).waitFor()
  for (const title of ['Requests', 'Revenue', 'Errors by cause'])
    await page.getByRole('heading', { name: title, exact: true }).waitFor()
  await page.locator('.recharts-surface').first().waitFor()
  await mkdir(SCREENSHOTS, { recursive: true })
  await page.screenshot({ path: TAKEN })
  if (process.env.README_SCREENSHOT === '1') await copyFile(TAKEN, SHOWN)

  assert.deepEqual(complaints, [])
  assert.deepEqual(await sizeOf(TAKEN), [WIDTH, HEIGHT])
  assert.deepEqual(await sizeOf(SHOWN), [WIDTH, HEIGHT])
  assert.match(await readFile(join(ROOT, 'README.md'), 'utf8'), /\(docs\/images\/dashboard\.png\)/)
})

// Of a PNG, as its header has it.
async function sizeOf(file: string): Promise<readonly number[]> {
  const bytes = await readFile(file)
  return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]
}
