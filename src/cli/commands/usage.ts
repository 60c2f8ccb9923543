// `turnpike usage …`: lists, shows and exports usage records.
import { callCommand, clientCommand, type Filters, listCommand, pathOf } from '../call-command.ts'
import type { Command } from '../command.ts'
import { exportUsage } from './usage-export.ts'

const FILTERS: Filters = {
  from: { value: 'TIME', about: 'at or after this time, such as 2026-01-31 or 2026-01-31T12:00:00Z' },
  to: { value: 'TIME', about: 'before this time' },
  key: { value: 'ID', about: 'only this key', query: 'key_id' },
  account: { value: 'ID', about: 'only this account', query: 'account_id' },
  model: { value: 'ID', about: 'only this model' },
  provider: { value: 'ID', about: 'only this provider' },
  endpoint: { value: 'NAME', about: 'only this endpoint, or "all" (default: chat.completions)' },
  outcome: { value: 'OUTCOME', about: 'completed, client_left, upstream_failed, upstream_broke, refused or recovered' },
}

export const commands: Readonly<Record<string, Command>> = {
  list: listCommand(
    { usage: 'usage list [options]', about: 'Lists usage records, newest first.' },
    {
      path: () => '/usage',
      columns: [
        'created_at',
        'request_id',
        'key_id',
        'model_served',
        'provider',
        'outcome',
        'http_status',
        'prompt_tokens',
        'completion_tokens',
        'cost',
      ],
      filters: FILTERS,
    },
  ),
  show: callCommand(
    {
      usage: 'usage show REQUEST_ID',
      about: 'Shows the usage record of one request, by its X-Request-Id.',
      takes: [1, 1],
    },
    input => ({ method: 'GET', path: pathOf('usage', input) }),
  ),
  export: clientCommand(
    {
      usage: 'usage export [options]',
      about: 'Exports usage records, newest first, as CSV or (with --json) one JSON object per line.',
      options: {
        ...FILTERS,
        output: { value: 'FILE', about: 'write to this file, which must not exist (default: stdout)' },
      },
    },
    input => exportUsage(input, FILTERS),
  ),
}
