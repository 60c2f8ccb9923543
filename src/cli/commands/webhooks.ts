// `turnpike webhooks …`: endpoints that receive events. A secret is printed only when it is created.
import { callCommand, listCommand, pathOf } from '../call-command.ts'
import { BadUsage, type Command, type Input, type Option } from '../command.ts'
import { ifMatch, something, VERSION_OPTION } from '../document.ts'
import type { Json } from '../http-client.ts'

const FIELDS: Readonly<Record<string, Option>> = {
  event: { value: 'PATTERN', multiple: true, about: 'type of event, group such as "key.*", or "*"; repeatable' },
  account: { value: 'ID', about: 'only events of this account, or "any"' },
  description: { value: 'TEXT', about: 'what the webhook is for' },
  format: { value: 'FORMAT', about: 'standard (the event as JSON) or slack (a readable sentence)' },
}

export const commands: Readonly<Record<string, Command>> = {
  list: listCommand(
    { usage: 'webhooks list [options]', about: 'Lists webhooks, newest first.' },
    {
      path: () => '/webhooks',
      columns: ['id', 'url', 'events', 'account_id', 'format', 'enabled', 'failing_since', 'description'],
    },
  ),
  show: callCommand({ usage: 'webhooks show ID', about: 'Shows one webhook.', takes: [1, 1] }, input => ({
    method: 'GET',
    path: pathOf('webhooks', input),
  })),
  create: callCommand(
    {
      usage: 'webhooks create URL --event PATTERN [options]',
      about: 'Creates a webhook and prints its signing secret, which is shown only once.',
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
      usage: 'webhooks update ID [options]',
      about: 'Changes the given fields only. Disabling a webhook cancels its waiting deliveries.',
      options: {
        url: { value: 'URL', about: 'new address' },
        ...FIELDS,
        enable: { about: 'deliver again' },
        disable: { about: 'deliver nothing' },
        ...VERSION_OPTION,
      },
      takes: [1, 1],
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
      usage: 'webhooks delete ID',
      about: 'Deletes a webhook. Waiting deliveries are not sent.',
      takes: [1, 1],
    },
    input => ({ method: 'DELETE', path: pathOf('webhooks', input) }),
  ),
  test: callCommand(
    {
      usage: 'webhooks test ID [options]',
      about: 'Sends a sample event and shows the result.',
      options: { type: { value: 'TYPE', about: 'type of the sample, such as balance.low' } },
      takes: [1, 1],
    },
    input => ({ method: 'POST', path: pathOf('webhooks', input, '/test'), body: { type: input.text('type') } }),
  ),
  deliveries: listCommand(
    { usage: 'webhooks deliveries ID [options]', about: 'Lists deliveries of a webhook, newest first.', takes: [1, 1] },
    {
      path: input => pathOf('webhooks', input, '/deliveries'),
      columns: ['id', 'type', 'status', 'attempts', 'response_status', 'error', 'last_attempt_at'],
      filters: { status: { value: 'STATUS', about: 'pending, delivered, failed or canceled' } },
    },
  ),
  resend: callCommand(
    {
      usage: 'webhooks resend ID DELIVERY',
      about: 'Sends the event of a delivery again, after those that wait.',
      takes: [2, 2],
    },
    input => ({
      method: 'POST',
      path: pathOf('webhooks', input, `/deliveries/${encodeURIComponent(input.args[1] ?? '')}/resend`),
      body: {},
    }),
  ),
  'rotate-secret': callCommand(
    {
      usage: 'webhooks rotate-secret ID',
      about: 'Creates a new signing secret and prints it once. Both secrets sign for 24 hours.',
      takes: [1, 1],
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
