// `turnpike models …`: models with their prices and targets, through the admin API, and prices from the bundled list.
import { callCommand, clientCommand, listCommand } from '../call-command.ts'
import { entryCommands } from '../catalog-command.ts'
import { BadUsage, type Command, type Input, type Option } from '../command.ts'
import { cell, readCount, readDocument, SET_OPTIONS } from '../document.ts'
import { type Json, openClient } from '../http-client.ts'
import { printJson, printTable } from '../output.ts'

const FIELDS: Readonly<Record<string, Option>> = {
  context: { value: 'N', about: 'tokens of context' },
  'max-output': { value: 'N', about: 'most tokens of output' },
  prompt: { value: 'USD', about: 'US dollars per token of the prompt, such as 0.0000025' },
  completion: { value: 'USD', about: 'US dollars per token of output' },
  target: { value: 'PROVIDER:MODEL', multiple: true, about: 'who serves it, by which name; the first come first' },
  alias: { value: 'NAME', multiple: true, about: 'another name; may be repeated' },
}
const LISTED = ['id', 'status', 'provisioned', 'context_length', 'pricing', 'targets']

export const commands: Readonly<Record<string, Command>> = {
  list: listCommand(
    { usage: 'models list [options]', about: 'Lists models by id, with what callers pay in credits.' },
    { path: () => '/models', columns: LISTED },
  ),
  create: callCommand(
    {
      usage: 'models create ID [options]',
      about: 'Adds a model. Prices are in US dollars; the factors of the configuration file make credits of them.',
      options: { ...FIELDS, ...SET_OPTIONS },
      takes: [1, 1],
    },
    input => ({ method: 'POST', path: '/models', body: readDocument(input, { id: input.args[0], ...fields(input) }) }),
  ),
  ...entryCommands({
    room: 'models',
    about: {
      show: 'Shows one model.',
      update: 'Changes what is given and nothing else.',
      delete: 'Deletes a model. Usage records and the prices there were are kept.',
    },
    options: FIELDS,
    fields,
  }),
  import: clientCommand(
    {
      usage: 'models import VENDOR [options]',
      about: 'Compares the installed price list with the catalog, and takes it over with --apply.',
      options: {
        apply: { about: 'do it; without this the difference is only shown' },
        provider: { value: 'ID', about: "which provider of the catalog serves them; the vendor's name unless given" },
        match: { value: 'TEXT', about: 'only names that contain this, or fit a pattern such as gpt-4*' },
        markup: { value: 'FACTOR', about: 'instead of that of the configuration file, such as 1.2' },
        prefix: { value: 'TEXT', about: 'before the names in the catalog; "PROVIDER/" unless given' },
        'upstream-prefix': { value: 'TEXT', about: 'before the names at the provider' },
        context: { value: 'N', about: 'tokens of context, for models of which it is not known' },
        'max-output': { value: 'N', about: 'most tokens of output, for models of which it is not known' },
        all: { about: 'show also what stays the same and what is skipped' },
      },
      takes: [1, 1],
    },
    importModels,
  ),
}

async function importModels(input: Input): Promise<number> {
  const order = readDocument(input, {
    list: input.args[0],
    provider: input.text('provider'),
    match: input.text('match'),
    markup: input.text('markup'),
    prefix: input.text('prefix'),
    upstream_prefix: input.text('upstream-prefix'),
    context_length: readCount(input, 'context'),
    max_output_tokens: readCount(input, 'max-output'),
    dry_run: !input.flag('apply'),
  })
  const answer = await (await openClient(input)).call('POST', '/models/import', order)
  if (input.json) {
    printJson(answer)
    return 0
  }
  const all = answer.data as readonly Json[]
  const shown = all.filter(({ change }) => input.flag('all') || change === 'new' || change === 'changed')
  printTable(
    ['change', 'model', 'before', 'after', 'notes'],
    shown.map(({ change, model, before, after, notes }) => [change, model, before, after, notes].map(cell)),
  )
  const count = (change: string) => all.filter(each => each.change === change).length
  const counts = ['new', 'changed', 'same', 'skipped'].map(change => `${count(change)} ${change}`).join(', ')
  process.stderr.write(`${counts}${answer.dry_run === true ? '; nothing was saved: --apply does it' : ''}\n`)
  return 0
}

function fields(input: Input): Json {
  const [prompt, completion] = [input.text('prompt'), input.text('completion')]
  if ((prompt === undefined) !== (completion === undefined)) {
    throw new BadUsage('--prompt and --completion are given together; other prices by --set pricing=JSON')
  }
  return {
    context_length: readCount(input, 'context'),
    max_output_tokens: readCount(input, 'max-output'),
    pricing: prompt === undefined ? undefined : { prompt, completion },
    targets: input.texts('target')?.map(readTarget),
    aliases: input.texts('alias'),
  }
}

// Each is tried when those before it failed.
function readTarget(text: string, priority: number): Json {
  const at = text.indexOf(':')
  if (at < 1) throw new BadUsage('--target must be PROVIDER:MODEL')
  return { provider: text.slice(0, at), model: text.slice(at + 1), priority }
}
