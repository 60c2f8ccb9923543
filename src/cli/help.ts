// The help of commands and groups, at most 80 columns wide.
import { styleText } from 'node:util'
import { type Command, commonOptions, type Option, ownOptions } from './command.ts'

const HELP_COLUMNS = 80
// A longer option has its description on the next line.
const OPTION_CHARS_MAX = 30

export function helpFor(command: Command): string {
  const own = optionLines(ownOptions(command))
  const common = optionLines(commonOptions(command))
  return [
    `${styleText('bold', wrap(`turnpike ${command.usage}`, 2))}\n\n${wrap(command.about)}\n`,
    own === '' ? '' : `\nOptions:\n${own}`,
    `\n${own === '' ? 'Options' : 'Common options'}:\n${common}`,
    examplesOf([command], Number.POSITIVE_INFINITY),
    command.more === undefined ? '' : `\n${wrap(command.more)}\n`,
  ].join('')
}

export function groupHelp(name: string, about: string, commands: Readonly<Record<string, Command>>): string {
  const listed = Object.values(commands)
  const lines = listed.map(({ usage, about: line }) => `  ${wrap(`turnpike ${usage}`, 4)}\n      ${wrap(line, 6)}\n`)
  return [
    `${styleText('bold', `turnpike ${name}`)}: ${about}\n\nCommands:\n${lines.join('')}`,
    examplesOf(listed, 1),
    `\nRun "turnpike ${name} COMMAND --help" for the options of a command.\n`,
  ].join('')
}

function examplesOf(commands: readonly Command[], each: number): string {
  const lines = commands.flatMap(({ examples }) => examples.slice(0, each).map(example => `  ${example}\n`))
  return lines.length === 0 ? '' : `\nExamples:\n${lines.join('')}`
}

function optionLines(options: Readonly<Record<string, Option>>): string {
  const entries = Object.entries(options).map(([name, { short, value, about }]) => {
    const names = `${short === undefined ? '' : `-${short}, `}--${name}`
    return [`${names}${value === undefined ? '' : ` ${value}`}`, about] as const
  })
  const lengths = entries.map(([left]) => left.length).filter(length => length <= OPTION_CHARS_MAX)
  const width = Math.max(...lengths, 0)
  const column = width + 4
  return entries
    .map(([left, about]) => {
      const head = left.length > width ? `  ${left}\n${' '.repeat(column)}` : `  ${left.padEnd(width)}  `
      return `${head}${wrap(about, column)}\n`
    })
    .join('')
}

// Breaks lines at spaces; lines after the first are indented.
function wrap(text: string, indent = 0): string {
  const lines = text.split('\n').flatMap(line => {
    const wrapped: string[] = []
    for (const word of line.split(' ')) {
      const last = wrapped.at(-1)
      if (last !== undefined && indent + last.length + 1 + word.length <= HELP_COLUMNS)
        wrapped[wrapped.length - 1] = `${last} ${word}`
      else wrapped.push(word)
    }
    return wrapped
  })
  return lines.join(`\n${' '.repeat(indent)}`)
}
