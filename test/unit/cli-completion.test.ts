// Completion scripts in the real shells: commands, subcommands, options, values and profile names.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, test } from 'node:test'
import { GROUPS } from '../../src/cli/command-table.ts'
import { bashScript } from '../../src/cli/completion/bash.ts'
import { fishScript } from '../../src/cli/completion/fish.ts'
import { completionWords } from '../../src/cli/completion/words.ts'
import { zshScript } from '../../src/cli/completion/zsh.ts'
import { installPackages } from '../support/install.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-completion-'))
after(() => rmSync(folder, { recursive: true }))
// The command that scripts ask for profiles.
writeFileSync(join(folder, 'turnpike'), '#!/bin/sh\n[ "$*" = "profiles list -q" ] && printf "prod\\nstaging\\n"\n')
chmodSync(join(folder, 'turnpike'), 0o755)

const places = await completionWords(GROUPS)

type Case = readonly [line: string, offered: readonly string[], absent?: readonly string[]]
const CASES: readonly Case[] = [
  ['turnpike ', [...Object.keys(GROUPS), 'help']],
  ['turnpike ke', ['keys'], ['models']],
  ['turnpike keys ', ['create', 'list', 'revoke'], ['keys']],
  ['turnpike keys cr', ['create'], ['list']],
  ['turnpike help ', ['keys', 'usage']],
  ['turnpike keys create x --r', ['--rpm'], ['--account']],
  ['turnpike keys create x --rpm 5 --', ['--account', '--budget', '--profile', '--help', '--output-format']],
  ['turnpike --profile prod keys ', ['create', 'list']],
  ['turnpike keys list --status ', ['active', 'revoked', 'expired'], ['--status']],
  ['turnpike keys list -o ', ['json', 'csv', 'wide', 'table', 'tsv']],
  ['turnpike usage summary --by a', ['account'], ['model']],
  ['turnpike keys list --profile ', ['prod', 'staging']],
  ['turnpike keys list --profile s', ['staging'], ['prod']],
  ['turnpike completion ', ['bash', 'zsh', 'fish']],
  ['turnpike operators create dana --role ', ['admin', 'viewer']],
]

test('bash completes', async t => {
  const file = join(folder, 'bash')
  writeFileSync(file, bashScript(places))
  for (const [line, offered, absent = []] of CASES) {
    await t.test(line, () => {
      const words = line.split(' ')
      const array = words.map(word => `'${word}'`).join(' ')
      const ask = `source '${file}'; COMP_WORDS=(${array}); COMP_CWORD=${words.length - 1}; _turnpike; printf '%s\\n' "\${COMPREPLY[@]}"`
      assertOffered(shell('bash', ['--norc', '-u', '-c', ask]), offered, absent)
    })
  }
  await t.test('a value after an equals sign, which bash makes a word', () => {
    const ask = `source '${file}'; COMP_WORDS=(turnpike keys list --status = re); COMP_CWORD=5; _turnpike; printf '%s\\n' "\${COMPREPLY[@]}"`
    assertOffered(shell('bash', ['--norc', '-c', ask]), ['revoked'], ['active'])
  })
})

test('zsh completes', async t => {
  if (!hasShell('zsh')) return
  const file = join(folder, '_turnpike')
  writeFileSync(file, zshScript(places))
  // What the completion system would be given, printed.
  const stubs = `compdef() { : }; _files() { print -r -- FILES }
    _describe() { [[ $1 == -o ]] && shift; local -a all=("\${(@P)2}"); print -rl -- "\${(@)all%%:*}" }
    compadd() { shift; print -rl -- "$@" }`
  for (const [line, offered] of CASES) {
    await t.test(line, () => {
      const words = line.split(' ')
      const array = words.map(word => `'${word}'`).join(' ')
      const ask = `${stubs}; source '${file}'; words=(${array}); CURRENT=${words.length}; _turnpike`
      // zsh itself leaves out what does not match.
      assertOffered(shell('zsh', ['-f', '-c', ask]), offered, [])
    })
  }
})

test('fish completes', async t => {
  if (!hasShell('fish')) return
  const file = join(folder, 'turnpike.fish')
  writeFileSync(file, fishScript(places))
  for (const [line, offered, absent = []] of CASES) {
    await t.test(line, () => {
      const lines = shell('fish', ['--no-config', '-c', `source '${file}'; complete -C '${line}'`])
      assertOffered(
        lines.map(each => each.split('\t')[0] ?? ''),
        offered,
        absent,
      )
    })
  }
})

function assertOffered(lines: readonly string[], offered: readonly string[], absent: readonly string[]): void {
  for (const word of offered) assert.ok(lines.includes(word), `${word} is missing in: ${lines.join(' ')}`)
  for (const word of absent) assert.ok(!lines.includes(word), `${word} is offered: ${lines.join(' ')}`)
}

function shell(name: string, args: readonly string[]): readonly string[] {
  const PATH = `${folder}${delimiter}${process.env.PATH}`
  const ran = spawnSync(name, args, { encoding: 'utf8', env: { PATH, HOME: folder, TERM: 'dumb' }, timeout: 60_000 })
  assert.equal(ran.stderr, '')
  assert.equal(ran.status, 0)
  return ran.stdout.trimEnd().split('\n')
}

// Debian's package, where installing is allowed; otherwise it is said that the script is not tested.
function hasShell(name: string): boolean {
  const find = () => spawnSync(name, ['--version']).status === 0
  if (find() || (installPackages(name) && find())) return true
  if (process.env.CI) throw new Error(`${name} is missing and could not be installed`)
  process.stderr.write(`\n${name} is not installed: ITS COMPLETION IS NOT TESTED\n\n`)
  return false
}
