// What is wrong with a page in a browser: accessibility violations, overflow, values that are cut off, scripts that ran from names.
// Takes a screenshot of each look.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { barriers, LOOKS, lookAt, SCREENSHOTS, type Screen, type Visit } from './browser.ts'

// `product`: the end of the title, unless a name was run as a script.
export async function faultsOf(
  { page }: Visit,
  name: string,
  screen: Screen,
  product = 'Turnpike',
): Promise<readonly string[]> {
  const faults: string[] = []
  await mkdir(SCREENSHOTS, { recursive: true })
  if (!(await page.title()).endsWith(product)) faults.push(`on ${name} a name was run as a script`)
  for (const look of LOOKS[screen]) {
    await lookAt(page, look)
    await page.screenshot({ path: join(SCREENSHOTS, `${name}-${look}.png`), fullPage: true })
    for (const barrier of await barriers(page, look)) faults.push(`${name}, ${look}: ${barrier}`)
  }
  // Last, once the layout has settled.
  const tooWide = Number(
    await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
  )
  if (tooWide > 0) faults.push(`${name} is ${tooWide} pixels too wide`)
  const cut = await cutOff(page, screen === 'phone' ? `${FRAMES}, .table-frame td` : FRAMES)
  faults.push(...cut.map(text => `${name} cuts off: ${text}`))
  return faults
}

const FRAMES = '.table-frame, dl > div'

// Lists that must be scrolled sideways, and values that do not fit their place. Long names end with an ellipsis.
async function cutOff(page: Page, selector: string): Promise<readonly string[]> {
  return page.evaluate(`
    [...document.querySelectorAll('${selector}')]
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1)
      .map(({ className, innerText }) => className + ': ' + innerText.slice(0, 80))`)
}
