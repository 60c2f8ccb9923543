// `turnpike completion`: a script that completes commands, options and their values in a shell.
import { BadUsage, type Command, type Groups } from '../command.ts'
import { bashScript } from '../completion/bash.ts'
import { fishScript } from '../completion/fish.ts'
import { completionWords } from '../completion/words.ts'
import { zshScript } from '../completion/zsh.ts'
import { didYouMean } from '../suggest.ts'

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const
const SHELLS = Object.keys(SCRIPTS)

// The table of all commands is passed in, because it has this one too.
export function completionOf(table: Groups): { readonly commands: Readonly<Record<string, Command>> } {
  return { commands: { '': completion(table) } }
}

function completion(table: Groups): Command {
  return {
    usage: 'completion SHELL',
    about: 'Prints a completion script for bash, zsh or fish: commands, options, their values and profile names.',
    examples: [
      'source <(turnpike completion bash)',
      'turnpike completion zsh > ~/.zfunc/_turnpike',
      'turnpike completion fish > ~/.config/fish/completions/turnpike.fish',
    ],
    more: 'bash: add the first example to ~/.bashrc. zsh: the second needs "fpath+=~/.zfunc; autoload -Uz compinit; compinit" in ~/.zshrc. Print the script again after an upgrade.',
    takes: [1, 1],
    withoutJson: true,
    async run(input) {
      const [shell = ''] = input.args
      const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell as keyof typeof SCRIPTS] : undefined
      if (script === undefined)
        throw new BadUsage(`unknown shell "${shell}"${didYouMean(shell, SHELLS)}\nshells: ${SHELLS.join(', ')}`)
      process.stdout.write(script(await completionWords(table)))
      return 0
    },
  }
}
