// `turnpike webhooks …`: endpoints that receive events. A secret is printed only when it is created.
import { callCommand, listCommand, pathOf } from '../call-command.ts'
import { BadUsage, type Command, type Input, type Option } from '../command.ts'
import { ifMatch, something, VERSION_OPTION } from '../document.ts'
import type { Json } from '../http-client.ts'

const FIELDS: Readonly<Record<string, Option>> = {
  event: { value: 'PATTERN', multiple: true, about: 'type of event, group such as "key.*", or "*"; repeatable' },
  account: { value: 'ACCOUNT', about: 'only events of this account, or "any"', names: 'account' },
  description: { value: 'TEXT', about: 'what the webhook is for' },
  format: {
    value: 'FORMAT',
    about: 'standard (the event as JSON) or slack (a readable sentence)',
    values: ['standard', 'slack'],
  },
}
const WEBHOOK = { takes: [1, 1], names: 'webhook' } as const

export const commands: Readonly<Record<string, Command>> = {
  list: listCommand(
    {
      usage: 'webhooks list [options]',
      about: 'Lists webhooks, newest first.',
      examples: ['turnpike webhooks list'],
    },
    {
      path: () => '/webhooks',
      columns: ['id', 'url', 'events', 'account_id', 'format', 'enabled', 'failing_since', 'description'],
      extra: ['version', 'created_at'],
      first: ['id', 'url', 'enabled', 'failing_since', 'events', 'description', 'account_id', 'format'],
    },
  ),
  show: callCommand(
    {
      usage: 'webhooks show WEBHOOK',
      about: 'Shows one webhook, by its ID, URL or description.',
      examples: ['turnpike webhooks show https://example.com/hooks'],
      ...WEBHOOK,
    },
    input => ({ method: 'GET', path: pathOf('webhooks', input) }),
  ),
  create: callCommand(
    {
      usage: 'webhooks create URL --event PATTERN [options]',
      about: 'Creates a webhook and prints its signing secret, which is shown only once.',
      examples: [
        'turnpike webhooks create https://example.com/hooks --event "key.*"',
        'turnpike webhooks create https://hooks.slack.com/… --event "*" --format slack',
      ],
      options: FIELDS,
      takes: [1, 1],
    },
    input => {
      if (input.texts('event') === undefined) throw new BadUsage('--event is required, for example --event "key.*"')
      return { method: 'POST', path: '/webhooks', body: { url: input.args[0], ...fields(input) } }
    },
  ),
  update: callCommand(
    {
      usage: 'webhooks update WEBHOOK [options]',
      about: 'Changes the given fields only. Disabling a webhook cancels its waiting deliveries.',
      examples: ['turnpike webhooks update https://example.com/hooks --disable'],
      options: {
        url: { value: 'URL', about: 'new address' },
        ...FIELDS,
        enable: { about: 'deliver again' },
        disable: { about: 'deliver nothing' },
        ...VERSION_OPTION,
      },
      ...WEBHOOK,
    },
    input => ({
      method: 'PATCH',
      path: pathOf('webhooks', input),
      body: something({ url: input.text('url'), ...fields(input), enabled: enabledBy(input) }),
      headers: ifMatch(input),
    }),
  ),
  delete: callCommand(
    {
      usage: 'webhooks delete WEBHOOK [options]',
      about: 'Deletes a webhook. Waiting deliveries are not sent.',
      examples: ['turnpike webhooks delete https://example.com/hooks'],
      confirms: 'Delete the webhook',
      ...WEBHOOK,
    },
    input => ({ method: 'DELETE', path: pathOf('webhooks', input) }),
  ),
  test: callCommand(
    {
      usage: 'webhooks test WEBHOOK [options]',
      about: 'Sends a sample event and shows the result.',
      examples: ['turnpike webhooks test https://example.com/hooks --type balance.low'],
      options: { type: { value: 'TYPE', about: 'type of the sample, such as balance.low' } },
      ...WEBHOOK,
    },
    input => ({ method: 'POST', path: pathOf('webhooks', input, '/test'), body: { type: input.text('type') } }),
  ),
  deliveries: listCommand(
    {
      usage: 'webhooks deliveries WEBHOOK [options]',
      about: 'Lists deliveries of a webhook, newest first.',
      examples: ['turnpike webhooks deliveries https://example.com/hooks --status failed'],
      ...WEBHOOK,
    },
    {
      path: input => pathOf('webhooks', input, '/deliveries'),
      columns: ['id', 'type', 'status', 'attempts', 'response_status', 'error', 'last_attempt_at'],
      first: ['id', 'status', 'type', 'response_status', 'attempts', 'last_attempt_at', 'error'],
      filters: {
        status: {
          value: 'STATUS',
          about: 'pending, delivered, failed or canceled',
          values: ['pending', 'delivered', 'failed', 'canceled'],
        },
      },
    },
  ),
  resend: callCommand(
    {
      usage: 'webhooks resend WEBHOOK DELIVERY',
      about: 'Sends the event of a delivery again, after those that wait.',
      examples: ['turnpike webhooks resend https://example.com/hooks whd_0199c1b2-…'],
      takes: [2, 2],
      names: 'webhook',
    },
    input => ({
      method: 'POST',
      path: pathOf('webhooks', input, `/deliveries/${encodeURIComponent(input.args[1] ?? '')}/resend`),
      body: {},
    }),
  ),
  'rotate-secret': callCommand(
    {
      usage: 'webhooks rotate-secret WEBHOOK',
      about: 'Creates a new signing secret and prints it once. Both secrets sign for 24 hours.',
      examples: ['turnpike webhooks rotate-secret https://example.com/hooks'],
      ...WEBHOOK,
    },
    input => ({ method: 'POST', path: pathOf('webhooks', input, '/rotate-secret'), body: {} }),
  ),
}

function fields(input: Input): Json {
  const account = input.text('account')
  return {
    events: input.texts('event'),
    account_id: account === 'any' ? null : account,
    description: input.text('description'),
    format: input.text('format'),
  }
}

function enabledBy(input: Input): boolean | undefined {
  if (input.flag('enable') && input.flag('disable')) throw new BadUsage('pass either --enable or --disable')
  return input.flag('enable') ? true : input.flag('disable') ? false : undefined
}
