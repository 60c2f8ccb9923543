// `turnpike logs`: requests as lines, and with --follow new ones as they are settled.
import { clientCommand } from '../call-command.ts'
import type { Command } from '../command.ts'
import { USAGE_OPTIONS } from '../usage/filters.ts'
import { showLogs } from '../usage/log.ts'

export const commands: Readonly<Record<string, Command>> = {
  '': clientCommand(
    {
      usage: 'logs [options]',
      about:
        'Prints the latest requests, the newest last, and with --follow new ones as they are settled, until Ctrl-C.',
      examples: [
        'turnpike logs --follow',
        'turnpike logs --follow --account acme --outcome upstream_failed',
        'turnpike logs --limit 100 --endpoint all --json',
      ],
      options: {
        follow: { short: 'f', about: 'keep printing new requests' },
        limit: { value: 'N', about: 'number of past requests to begin with (default 20, at most 1000)' },
        ...USAGE_OPTIONS,
      },
      more: 'In a pipe, fields are separated by tabs: time, status, outcome, model, provider, account, key, prompt tokens, completion tokens, cost, request ID, error. With --json, every line is a usage record.',
    },
    showLogs,
  ),
}
