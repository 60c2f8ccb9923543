// `turnpike providers …`: providers, their credentials and their health.
import { callCommand, clientCommand, entryCommands, listCommand, pathOf } from '../call-command.ts'
import { BadUsage, type Command, type Input, type Option } from '../command.ts'
import { ifMatch, readDocument, readSecret, SECRET_OPTIONS, SET_OPTIONS, VERSION_OPTION } from '../document.ts'
import { type Json, openClient } from '../http-client.ts'
import { printJson, printTable } from '../output.ts'

const FIELDS: Readonly<Record<string, Option>> = {
  kind: { value: 'KIND', about: 'API type, such as openai' },
  preset: { value: 'NAME', about: 'preset of a known vendor, such as groq' },
  'base-url': { value: 'URL', about: 'base URL of the API' },
}
const LISTED = ['id', 'kind', 'base_url', 'status', 'provisioned', 'credentials']

export const commands: Readonly<Record<string, Command>> = {
  list: listCommand(
    {
      usage: 'providers list [options]',
      about: 'Lists providers by ID. Provisioned entries come from the configuration file and are read-only.',
    },
    { path: () => '/providers', columns: LISTED },
  ),
  create: callCommand(
    {
      usage: 'providers create ID --kind KIND [options]',
      about: 'Adds a provider. Its API key is read from an environment variable or stdin and is never shown again.',
      options: { ...FIELDS, ...SECRET_OPTIONS, ...SET_OPTIONS },
      takes: [1, 1],
    },
    async input => ({
      method: 'POST',
      path: '/providers',
      body: readDocument(input, { id: input.args[0], ...fields(input), api_key: await readSecret(input) }),
    }),
  ),
  ...entryCommands({
    collection: 'providers',
    about: {
      show: 'Shows one provider, with the IDs and last four characters of its credentials.',
      update: 'Changes the given fields only. Changing the kind or base URL deletes the stored credentials.',
      delete: 'Deletes a provider and its credentials. Fails if a model uses the provider.',
    },
    options: FIELDS,
    fields,
  }),
  'add-credential': callCommand(
    {
      usage: 'providers add-credential ID (--api-key-env NAME | --api-key-stdin) [options]',
      about: 'Adds a credential. It is stored encrypted and never shown again.',
      options: { ...SECRET_OPTIONS, ...VERSION_OPTION },
      takes: [1, 1],
    },
    async input => {
      const secret = await readSecret(input)
      if (secret === undefined) throw new BadUsage('pass the API key with --api-key-env or --api-key-stdin')
      const path = pathOf('providers', input, '/credentials')
      return { method: 'POST', path, body: { api_key: secret }, headers: ifMatch(input) }
    },
  ),
  'remove-credential': callCommand(
    {
      usage: 'providers remove-credential ID CREDENTIAL',
      about: 'Removes a credential by its ID (see "turnpike providers show").',
      takes: [2, 2],
    },
    input => ({
      method: 'DELETE',
      path: pathOf('providers', input, `/credentials/${encodeURIComponent(input.args[1] ?? '')}`),
    }),
  ),
  health: clientCommand(
    {
      usage: 'providers health ID',
      about: 'Shows the health of the targets of a provider: state, success rate and time to first byte.',
      takes: [1, 1],
    },
    async input => {
      const health = await (await openClient(input)).call('GET', pathOf('providers', input, '/health'))
      if (input.json) printJson(health)
      else showHealth(health)
      return 0
    },
  ),
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
