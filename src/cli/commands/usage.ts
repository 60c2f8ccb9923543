// `turnpike usage …`: requests and their cost, as a list, one in full, or all of them into a file.
import { callCommand, clientCommand, type Filters, listCommand, pathOf } from '../call-command.ts'
import type { Command } from '../command.ts'
import { exportUsage } from './usage-export.ts'

const FILTERS: Filters = {
  from: { value: 'TIME', about: 'not before this time, such as 2026-01-31 or 2026-01-31T12:00:00Z' },
  to: { value: 'TIME', about: 'before this time' },
  key: { value: 'ID', about: 'of one key', query: 'key_id' },
  account: { value: 'ID', about: 'of one account', query: 'account_id' },
  model: { value: 'ID', about: 'of one model' },
  provider: { value: 'ID', about: 'served by one provider' },
  endpoint: { value: 'NAME', about: 'chat.completions unless given; "all" for all' },
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
      about: 'Shows the usage record of one request (the X-Request-Id of its answer).',
      takes: [1, 1],
    },
    input => ({ method: 'GET', path: pathOf('usage', input) }),
  ),
  export: clientCommand(
    {
      usage: 'usage export [options]',
      about:
        'Writes usage records to stdout or into a file, newest first, as CSV or, with --json, as one JSON object a line.',
      options: { ...FILTERS, output: { value: 'FILE', about: 'a file, which must not exist yet, instead of stdout' } },
    },
    input => exportUsage(input, FILTERS),
  ),
}
