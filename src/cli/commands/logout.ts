// `turnpike logout`: removes a profile with its token.
import { loadClientEnv } from '../../config/command-env.ts'
import type { Command } from '../command.ts'
import { printFields, printJson } from '../output.ts'
import { findProfile, nameInUse, readProfiles, writeProfiles } from '../profiles.ts'

export const commands: Readonly<Record<string, Command>> = {
  '': {
    usage: 'logout [options]',
    about: 'Removes a profile and its token from this machine. The token itself stays valid.',
    examples: ['turnpike logout', 'turnpike logout --profile prod'],
    options: {
      profile: { value: 'NAME', about: 'profile to remove (default: the one in use)', values: 'profiles' },
    },
    async run(input) {
      const profiles = readProfiles()
      const name = input.text('profile') ?? nameInUse(profiles, loadClientEnv())
      findProfile(profiles, name)
      const entries = Object.fromEntries(Object.entries(profiles.entries).filter(([each]) => each !== name))
      writeProfiles({ current: profiles.current === name ? undefined : profiles.current, entries })
      if (input.json) printJson({ ok: true, removed: name })
      else printFields([['removed', name]])
      return 0
    },
  },
}
