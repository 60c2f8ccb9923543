// `turnpike providers …`: upstreams, their credentials and their health, by the admin API.
import { CLIENT_HELP, CLIENT_OPTIONS, type Json, openClient } from './client.ts'
import { BadUsage, type Command, type Input, type Option } from './command.ts'
import {
  CHANGE_OPTIONS,
  ifMatch,
  PAGE_OPTIONS,
  readDocument,
  readSecret,
  SECRET_OPTIONS,
  SET_OPTIONS,
  showList,
  showOne,
  VERSION_OPTION,
} from './document.ts'
import { printJson, printTable } from './table.ts'

const FIELDS: Readonly<Record<string, Option>> = {
  kind: { value: 'KIND', about: 'the wire it speaks, such as openai' },
  preset: { value: 'NAME', about: 'a known vendor, where there is a preset' },
  'base-url': { value: 'URL', about: 'where it is' },
}
const LISTED = ['id', 'kind', 'base_url', 'status', 'provisioned', 'credentials']

export const commands: Readonly<Record<string, Command>> = {
  list: {
    usage: 'providers list [options]',
    about: 'Lists providers by id. What the configuration file declares is provisioned, and read-only here.',
    options: { ...PAGE_OPTIONS, ...CLIENT_OPTIONS },
    more: CLIENT_HELP,
    run: async input => showList(await openClient(input), '/providers', LISTED, input),
  },
  show: onProvider('show', 'Shows one provider; of its credentials the ids and last four characters.', 'GET'),
  create: {
    usage: 'providers create ID --kind KIND [options]',
    about: 'Adds a provider. Its secret is read from a variable or from stdin, and is never shown again.',
    options: { ...FIELDS, ...SECRET_OPTIONS, ...SET_OPTIONS, ...CLIENT_OPTIONS },
    more: CLIENT_HELP,
    takes: [1, 1],
    async run(input) {
      const document = readDocument(input, { id: input.args[0], ...fields(input), api_key: await readSecret(input) })
      return showOne(await (await openClient(input)).call('POST', '/providers', document), input)
    },
  },
  update: {
    usage: 'providers update ID [options]',
    about: 'Changes what is given and nothing else. Another kind or address forgets the credentials.',
    options: { ...FIELDS, ...SET_OPTIONS, ...CHANGE_OPTIONS, ...VERSION_OPTION, ...CLIENT_OPTIONS },
    more: CLIENT_HELP,
    takes: [1, 1],
    async run(input) {
      const document = readDocument(input, fields(input))
      if (Object.keys(document).length === 0) throw new BadUsage('nothing to change was given')
      return showOne(await (await openClient(input)).call('PATCH', pathOf(input), document, ifMatch(input)), input)
    },
  },
  delete: {
    usage: 'providers delete ID [options]',
    about: 'Deletes a provider and its credentials. One that a model names stays.',
    options: { ...VERSION_OPTION, ...CLIENT_OPTIONS },
    more: CLIENT_HELP,
    takes: [1, 1],
    run: async input =>
      showOne(await (await openClient(input)).call('DELETE', pathOf(input), undefined, ifMatch(input)), input),
  },
  'add-credential': {
    usage: 'providers add-credential ID (--api-key-env NAME | --api-key-stdin) [options]',
    about: 'Adds a credential beside those that are there. It is sealed, and never shown again.',
    options: { ...SECRET_OPTIONS, ...VERSION_OPTION, ...CLIENT_OPTIONS },
    more: CLIENT_HELP,
    takes: [1, 1],
    async run(input) {
      const secret = await readSecret(input)
      if (secret === undefined) throw new BadUsage('give the secret by --api-key-env or --api-key-stdin')
      const path = `${pathOf(input)}/credentials`
      const client = await openClient(input)
      return showOne(await client.call('POST', path, { api_key: secret }, ifMatch(input)), input)
    },
  },
  'remove-credential': {
    usage: 'providers remove-credential ID CREDENTIAL',
    about: 'Removes one credential, by the id that `providers show` tells.',
    options: CLIENT_OPTIONS,
    more: CLIENT_HELP,
    takes: [2, 2],
    async run(input) {
      const path = `${pathOf(input)}/credentials/${encodeURIComponent(input.args[1] ?? '')}`
      return showOne(await (await openClient(input)).call('DELETE', path), input)
    },
  },
  health: {
    usage: 'providers health ID',
    about: 'Shows how the targets of a provider do: success rate, time to first byte, state.',
    options: CLIENT_OPTIONS,
    more: CLIENT_HELP,
    takes: [1, 1],
    async run(input) {
      const health = await (await openClient(input)).call('GET', `${pathOf(input)}/health`)
      if (input.json) printJson(health)
      else showHealth(health)
      return 0
    },
  },
}

function onProvider(verb: string, about: string, method: 'GET'): Command {
  return {
    usage: `providers ${verb} ID`,
    about,
    options: CLIENT_OPTIONS,
    more: CLIENT_HELP,
    takes: [1, 1],
    run: async input => showOne(await (await openClient(input)).call(method, pathOf(input)), input),
  }
}

function fields(input: Input): Json {
  return { kind: input.text('kind'), preset: input.text('preset'), base_url: input.text('base-url') }
}

const HEALTH = ['model', 'state', 'success_rate', 'first_byte_ms', 'in_flight', 'requests', 'failures', 'open_until']

function showHealth({ targets }: Json): void {
  const rows = (targets as readonly Readonly<Record<string, string | number | null>>[]).map(target =>
    HEALTH.map(name => target[name]),
  )
  printTable(HEALTH, rows)
}

function pathOf(input: Input): string {
  return `/providers/${encodeURIComponent(input.args[0] ?? '')}`
}
