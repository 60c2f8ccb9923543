// `turnpike providers …`: providers, their credentials and their health.
import { callCommand, clientCommand, entryCommands, listCommand, pathOf } from '../call-command.ts'
import { BadUsage, type Command, type Input, type Option } from '../command.ts'
import { ifMatch, readDocument, readSecret, SECRET_OPTIONS, SET_OPTIONS, VERSION_OPTION } from '../document.ts'
import type { Json } from '../http-client.ts'
import { printJson } from '../output.ts'
import { showRows } from '../show.ts'

const FIELDS: Readonly<Record<string, Option>> = {
  kind: {
    value: 'KIND',
    about: 'API type, such as openai',
    values: ['openai', 'anthropic', 'google', 'vertex', 'bedrock', 'cohere', 'demo'],
  },
  preset: { value: 'NAME', about: 'preset of a known vendor, such as groq' },
  'base-url': { value: 'URL', about: 'base URL of the API' },
}

export const commands: Readonly<Record<string, Command>> = {
  list: listCommand(
    {
      usage: 'providers list [options]',
      about: 'Lists providers by ID. Provisioned entries come from the configuration file and are read-only.',
      examples: ['turnpike providers list'],
    },
    {
      path: () => '/providers',
      columns: ['id', 'kind', 'base_url', 'status', 'provisioned', 'credentials'],
      extra: ['api', 'proxy', 'version', 'created_at'],
      first: ['id', 'status', 'kind', 'credentials', 'base_url', 'provisioned'],
      derive: ({ credentials }) => ({ credentials: counted(credentials as readonly Json[]) }),
    },
  ),
  create: callCommand(
    {
      usage: 'providers create ID --kind KIND [options]',
      about: 'Adds a provider. Its API key is read from an environment variable or stdin and is never shown again.',
      examples: [
        'turnpike providers create groq --preset groq --api-key-env GROQ_API_KEY',
        'turnpike providers create local --kind openai --base-url http://10.0.0.5/v1',
      ],
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
    noun: 'provider',
    about: {
      show: [
        'Shows one provider, with the IDs and last four characters of its credentials.',
        'turnpike providers show groq',
      ],
      update: [
        'Changes the given fields only. Changing the kind or base URL deletes the stored credentials.',
        'turnpike providers update groq --status inactive',
      ],
      delete: [
        'Deletes a provider and its credentials. Fails if a model uses the provider.',
        'turnpike providers delete groq',
      ],
    },
    options: FIELDS,
    fields,
  }),
  'add-credential': callCommand(
    {
      usage: 'providers add-credential ID (--api-key-env NAME | --api-key-stdin) [options]',
      about: 'Adds a credential. It is stored encrypted and never shown again.',
      examples: ['turnpike providers add-credential groq --api-key-env GROQ_API_KEY_2'],
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
      examples: ['turnpike providers remove-credential groq cred_01a1e4de571a'],
      confirms: 'Remove the credential of the provider',
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
      examples: ['turnpike providers health openai'],
      takes: [1, 1],
      hasRows: true,
    },
    async (input, client) => {
      const health = await client.call('GET', pathOf('providers', input, '/health'))
      if (input.json) printJson(health)
      else showRows(health.targets as readonly Json[], { columns: HEALTH, id: 'model' }, input)
      return 0
    },
  ),
}

function fields(input: Input): Json {
  return { kind: input.text('kind'), preset: input.text('preset'), base_url: input.text('base-url') }
}

const HEALTH = ['model', 'state', 'success_rate', 'first_byte_ms', 'in_flight', 'requests', 'failures', 'open_until']

// `2`, or `2 (1 rejected)`.
function counted(credentials: readonly Json[]): string {
  const odd = credentials.filter(({ state }) => state !== 'active')
  const states = [...Map.groupBy(odd, ({ state }) => String(state))].map(([state, some]) => `${some.length} ${state}`)
  return `${credentials.length}${states.length === 0 ? '' : ` (${states.join(', ')})`}`
}
