// Questions on a terminal: a confirmation, and a secret that is not shown while it is typed. Both on stderr, so that stdout stays
// what the command prints.
import { createInterface } from 'node:readline/promises'
import { Failed, type Input, type Option } from './command.ts'
import { clean } from './output.ts'

export const YES_OPTION: Readonly<Record<string, Option>> = {
  yes: { short: 'y', about: 'do not ask for confirmation' },
}

export function isInteractive(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true
}

// Asks only on a terminal, so that scripts need no further option.
export async function confirm(question: string, input: Pick<Input, 'flag'>): Promise<void> {
  if (input.flag('yes') || !isInteractive()) return
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const closed = new Promise<string>(resolve => terminal.once('close', () => resolve('')))
  try {
    const answer = await Promise.race([terminal.question(`${clean(question)} [y/N] `), closed])
    if (!/^y(?:es)?$/i.test(answer.trim())) throw new Failed('cancelled; nothing was changed')
  } finally {
    terminal.close()
  }
}

const SECRET_CHARS_MAX = 4096
const [CTRL_C, CTRL_D, BACKSPACE, DELETE] = ['\u0003', '\u0004', '\b', '\u007f']

export function askSecret(question: string): Promise<string> {
  const { stdin, stderr } = process
  stderr.write(clean(question))
  stdin.setRawMode(true)
  stdin.setEncoding('utf8')
  return new Promise((resolve, reject) => {
    let typed = ''
    const end = () => {
      stdin.setRawMode(false)
      stdin.off('data', onData)
      stdin.pause()
      stderr.write('\n')
    }
    const onData = (chunk: string) => {
      for (const char of chunk) {
        if (char === '\r' || char === '\n' || char === CTRL_D) {
          end()
          return resolve(typed.trim())
        }
        if (char === CTRL_C || typed.length > SECRET_CHARS_MAX) {
          end()
          return reject(new Failed('cancelled'))
        }
        typed = char === BACKSPACE || char === DELETE ? typed.slice(0, -1) : typed + char
      }
    }
    stdin.on('data', onData)
    stdin.resume()
  })
}
