// `turnpike profiles …`: the gateways that this machine has tokens for.
import { loadClientEnv } from '../../config/command-env.ts'
import type { Command } from '../command.ts'
import { printFields, printJson } from '../output.ts'
import { findProfile, nameInUse, readProfiles, writeProfiles } from '../profiles.ts'
import { showRows } from '../show.ts'

export const commands: Readonly<Record<string, Command>> = {
  list: {
    usage: 'profiles list',
    about: 'Lists profiles with the URLs of their gateways, and which of them is in use. Tokens are not shown.',
    examples: ['turnpike profiles list'],
    hasRows: true,
    async run(input) {
      const profiles = readProfiles()
      const inUse = nameInUse(profiles, loadClientEnv())
      const rows = Object.entries(profiles.entries).map(([name, { url }]) => ({ name, url, current: name === inUse }))
      if (input.json) printJson({ data: rows })
      else showRows(rows, { columns: ['name', 'url', 'current'], id: 'name' }, input)
      return 0
    },
  },
  use: {
    usage: 'profiles use NAME',
    about: 'Makes later commands use this profile.',
    examples: ['turnpike profiles use prod'],
    takes: [1, 1],
    async run(input) {
      const profiles = readProfiles()
      const [name = ''] = input.args
      const { url } = findProfile(profiles, name)
      writeProfiles({ ...profiles, current: name })
      if (input.json) printJson({ ok: true, profile: name, url })
      else
        printFields([
          ['profile', name],
          ['url', url],
        ])
      return 0
    },
  },
}
