// `turnpike open`: prints the address of the dashboard, and opens it in a browser on a desktop.
import { spawn } from 'node:child_process'
import type { Command } from '../command.ts'
import { connect, URL_OPTIONS } from '../connection.ts'
import { printJson } from '../output.ts'

const OPENERS: Readonly<Record<string, string>> = { darwin: 'open', win32: 'explorer', linux: 'xdg-open' }

export const commands: Readonly<Record<string, Command>> = {
  '': {
    usage: 'open [options]',
    about: 'Prints the URL of the dashboard and, on a terminal, opens it in a browser.',
    examples: ['turnpike open', 'turnpike open --profile prod --print'],
    options: { print: { about: 'print only' } },
    commonOptions: URL_OPTIONS,
    async run(input) {
      const { url } = await connect(input)
      if (input.json) printJson({ url })
      else process.stdout.write(`${url}\n`)
      if (process.stdout.isTTY && !input.json && !input.flag('print')) openBrowser(url)
      return 0
    },
  },
}

// Without a browser, the printed URL is enough.
function openBrowser(url: string): void {
  const opener = OPENERS[process.platform]
  if (opener === undefined) return
  const child = spawn(opener, [url], { stdio: 'ignore', detached: true })
  child.on('error', () => undefined)
  child.unref()
}
