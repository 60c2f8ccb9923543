// `turnpike usage …`: lists, shows, sums and exports usage records.
import { callCommand, clientCommand, pathOf } from '../call-command.ts'
import { BadUsage, type Command, type Input, type Option } from '../command.ts'
import type { Json } from '../http-client.ts'
import { PAGE_OPTIONS, showList } from '../show.ts'
import { exportUsage } from '../usage/export.ts'
import { USAGE_OPTIONS, usageQuery } from '../usage/filters.ts'
import { summariseUsage } from '../usage/summary.ts'

const LIST = {
  columns: [
    ...['created_at', 'request_id', 'key_id', 'model', 'provider', 'outcome', 'http_status'],
    ...['prompt_tokens', 'completion_tokens', 'cost'],
  ],
  extra: [
    ...[
      'account_id',
      'model_requested',
      'model_served',
      'endpoint',
      'state',
      'stream',
      'error_code',
      'error_message',
      'upstream_cost',
    ],
    ...['cached_tokens', 'reasoning_tokens', 'tags', 'first_byte_at', 'finished_at', 'client_ip'],
  ],
  first: ['request_id', 'created_at', 'http_status', 'cost', 'model', 'outcome', 'provider', 'prompt_tokens'],
  id: 'request_id',
  // Of a request that no model served, the one that it names.
  derive: ({ model_served: served, model_requested: requested }: Json) => ({ model: served ?? requested }),
}

const SORT: Option = { value: 'ORDER', about: 'time (default) or cost', values: ['time', 'cost'] }

function listQuery(input: Input): URLSearchParams {
  const query = usageQuery(input)
  const sort = input.text('sort')
  if (sort !== undefined && SORT.values?.includes(sort) !== true) throw new BadUsage('--sort must be time or cost')
  if (sort === 'cost') query.set('sort', sort)
  return query
}

export const commands: Readonly<Record<string, Command>> = {
  list: clientCommand(
    {
      usage: 'usage list [options]',
      about: 'Lists usage records, newest first, or with --sort cost the most expensive first.',
      examples: [
        'turnpike usage list --account acme --since 24h',
        'turnpike usage list --sort cost --this-month --limit 10',
        'turnpike usage list --outcome refused --columns key_id,error_message',
      ],
      options: { ...USAGE_OPTIONS, sort: SORT, ...PAGE_OPTIONS },
      hasRows: true,
      check: listQuery,
    },
    (input, client) => showList(client, `/usage?${listQuery(input)}`, LIST, input),
  ),
  show: callCommand(
    {
      usage: 'usage show REQUEST_ID',
      about: 'Shows the usage record of one request, by its X-Request-Id.',
      examples: ['turnpike usage show 019a91b2-6c1e-7d33-8f00-3a5be0c4d2f1'],
      takes: [1, 1],
    },
    input => ({ method: 'GET', path: pathOf('usage', input) }),
  ),
  summary: clientCommand(
    {
      usage: 'usage summary [options]',
      about: 'Sums usage records by time, by a dimension or by a tag. Dimensions and tags have the highest cost first.',
      examples: [
        'turnpike usage summary --by account --this-month --top 10',
        'turnpike usage summary --by model --since 7d',
        'turnpike usage summary --by tag:team --last-month -o csv',
      ],
      options: {
        by: {
          value: 'GROUP',
          about: 'day, hour, model, provider, key, account, or a tag such as tag:team (default day)',
          values: ['day', 'hour', 'model', 'provider', 'key', 'account'],
        },
        top: { value: 'N', about: 'only the first N groups' },
        ...USAGE_OPTIONS,
      },
      hasRows: true,
      check: usageQuery,
    },
    summariseUsage,
  ),
  export: clientCommand(
    {
      usage: 'usage export [options]',
      about: 'Exports usage records, newest first, as CSV or (with --json) one JSON object per line.',
      examples: ['turnpike usage export --last-month --output october.csv', 'turnpike usage export --today --json'],
      options: {
        ...USAGE_OPTIONS,
        output: { value: 'FILE', about: 'write to this file, which must not exist (default: stdout)' },
      },
      check: usageQuery,
    },
    exportUsage,
  ),
}
