// Where the machine's Chromium is: its headless shell if there is one, which takes a third less processor time for the same pages.
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { installPackages } from './install.ts'

const SHELL = 'chromium-headless-shell'
const NAMES = [SHELL, 'chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']

export function chromiumPath(): string | undefined {
  return pathOf(NAMES)
}

// Debian's packages, where installing is allowed.
export function installChromium(): boolean {
  return installPackages(SHELL) || installPackages('chromium')
}

// Once for a run of all tests: any other Chromium serves too, so that one file alone installs nothing. A machine without any gets
// one here, not from each file.
export function preferShell(): void {
  if (pathOf([SHELL]) !== undefined || installPackages(SHELL)) return
  if (chromiumPath() === undefined) installPackages('chromium')
}

function pathOf(names: readonly string[]): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin']
  return names.flatMap(name => folders.map(folder => join(folder, name))).find(path => existsSync(path))
}
