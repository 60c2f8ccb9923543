// Reads standard input: a secret from its first line, or all of it, within a bound.
import { BadUsage } from './command.ts'

export async function lineFromStdin(charsMax: number): Promise<string> {
  return (await read(charsMax, text => text.includes('\n'))).split('\n')[0]?.trim() ?? ''
}

export async function allOfStdin(charsMax: number): Promise<string> {
  const text = await read(charsMax, () => false)
  if (text.length > charsMax) throw new BadUsage(`stdin has more than ${charsMax} characters`)
  return text
}

async function read(charsMax: number, isEnough: (text: string) => boolean): Promise<string> {
  let text = ''
  process.stdin.setEncoding('utf8')
  for await (const chunk of process.stdin) {
    text += String(chunk)
    if (isEnough(text) || text.length > charsMax) break
  }
  return text
}
