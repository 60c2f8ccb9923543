// `turnpike models …`: models, their prices and targets, price changes and the import of list prices.
import { callCommand, clientCommand, entryCommands, listCommand } from '../call-command.ts'
import { checkReprice, REPRICE_OPTIONS, repriceModels } from '../catalog/reprice.ts'
import { BadUsage, type Command, type Input, type Option } from '../command.ts'
import { readCount, readDocument, SET_OPTIONS } from '../document.ts'
import type { Client, Json } from '../http-client.ts'
import { printJson, printTable } from '../output.ts'
import { cell, perMillion, priceText } from '../show.ts'

const FIELDS: Readonly<Record<string, Option>> = {
  context: { value: 'N', about: 'context length in tokens' },
  'max-output': { value: 'N', about: 'maximum number of output tokens' },
  type: { value: 'TYPE', about: 'chat (default) or embedding', values: ['chat', 'embedding'] },
  dimensions: { value: 'N', about: 'size of the vectors of an embedding model' },
  prompt: { value: 'USD', about: 'US dollars per prompt token, such as 0.0000025' },
  completion: { value: 'USD', about: 'US dollars per completion token; not for an embedding model' },
  target: {
    value: 'PROVIDER:MODEL',
    multiple: true,
    about: 'provider and upstream model, in order of priority; repeatable',
  },
  alias: { value: 'NAME', multiple: true, about: 'alternative ID, * matches any characters; repeatable' },
}

export const commands: Readonly<Record<string, Command>> = {
  list: listCommand(
    {
      usage: 'models list [options]',
      about: 'Lists models by ID, with prices in credits per million tokens.',
      examples: ['turnpike models list', 'turnpike models list --columns id,prompt_per_million,targets'],
    },
    {
      path: () => '/models',
      columns: [
        'id',
        'status',
        'provisioned',
        'context_length',
        'prompt_per_million',
        'completion_per_million',
        'targets',
      ],
      extra: ['type', 'aliases', 'max_output_tokens', 'strategy', 'tiers', 'version', 'created_at'],
      first: [
        'id',
        'prompt_per_million',
        'completion_per_million',
        'status',
        'targets',
        'context_length',
        'provisioned',
      ],
      derive,
    },
  ),
  create: callCommand(
    {
      usage: 'models create ID [options]',
      about: 'Adds a model. Prices are in US dollars; the factors of the configuration file convert them to credits.',
      examples: [
        'turnpike models create gpt-4o --context 128000 --target openai:gpt-4o',
        'turnpike models create m --prompt 0.000001 --completion 0.000004 --target p:m',
      ],
      options: { ...FIELDS, ...SET_OPTIONS },
      takes: [1, 1],
    },
    input => ({ method: 'POST', path: '/models', body: readDocument(input, { id: input.args[0], ...fields(input) }) }),
  ),
  ...entryCommands({
    collection: 'models',
    noun: 'model',
    about: {
      show: ['Shows one model.', 'turnpike models show gpt-4o'],
      update: ['Changes the given fields only.', 'turnpike models update gpt-4o --alias "gpt-4o-2024*"'],
      delete: ['Deletes a model. Its usage records and price history are kept.', 'turnpike models delete gpt-4o'],
    },
    options: FIELDS,
    fields,
  }),
  reprice: clientCommand(
    {
      usage: 'models reprice PERCENT [options]',
      about:
        'Changes the prices of all models that are not in the configuration file, or of some, by a percentage: shows them, asks, and saves all or none. Prices are in credits per million tokens.',
      examples: ['turnpike models reprice 10', 'turnpike models reprice -2.5 --model gpt-4o --model o3 --yes'],
      options: REPRICE_OPTIONS,
      takes: [1, 1],
      check: checkReprice,
      more: 'Without a terminal nothing is asked: the prices are shown, and saved with --yes.',
    },
    repriceModels,
  ),
  import: clientCommand(
    {
      usage: 'models import VENDOR [options]',
      about:
        'Compares the bundled price list of a vendor, such as openai, with the catalog; --apply imports it. Prices are in credits per million tokens.',
      examples: ['turnpike models import openai', 'turnpike models import openai --match "gpt-*" --markup 1.2 --apply'],
      options: {
        apply: { about: 'save the changes (default: only show them)' },
        provider: { value: 'ID', about: 'provider that serves the models (default: VENDOR)' },
        match: { value: 'TEXT', about: 'only names that contain TEXT or match a pattern such as gpt-4*' },
        markup: { value: 'FACTOR', about: 'price factor such as 1.2 (default: from the configuration file)' },
        prefix: { value: 'TEXT', about: 'prefix of the model IDs (default: "PROVIDER/")' },
        'upstream-prefix': { value: 'TEXT', about: 'prefix of the upstream model names' },
        context: { value: 'N', about: 'context length of models for which it is unknown' },
        'max-output': { value: 'N', about: 'maximum output tokens of models for which it is unknown' },
        costs: {
          value: 'HOW',
          about: 'list prices as costs of targets: fill where none is stated (default), replace or keep',
          values: ['fill', 'replace', 'keep'],
        },
        all: { about: 'also show unchanged and skipped models' },
      },
      takes: [1, 1],
    },
    importModels,
  ),
}

async function importModels(input: Input, client: Client): Promise<number> {
  const order = readDocument(input, {
    list: input.args[0],
    provider: input.text('provider'),
    match: input.text('match'),
    markup: input.text('markup'),
    prefix: input.text('prefix'),
    upstream_prefix: input.text('upstream-prefix'),
    context_length: readCount(input, 'context'),
    max_output_tokens: readCount(input, 'max-output'),
    costs: input.text('costs'),
    dry_run: !input.flag('apply'),
  })
  const answer = await client.call('POST', '/models/import', order)
  if (input.json) {
    printJson(answer)
    return 0
  }
  const all = answer.data as readonly Json[]
  const shown = all.filter(({ change }) => input.flag('all') || change === 'new' || change === 'changed')
  printTable(
    ['change', 'model', 'before', 'after', 'cost', 'notes'],
    shown.map(({ change, model, before, after, cost_before, cost_after, notes }) => {
      const isSame = JSON.stringify(cost_before) === JSON.stringify(cost_after)
      return [change, model, priceText(before), priceText(after), isSame ? null : priceText(cost_after), notes].map(
        cell,
      )
    }),
  )
  const count = (change: string) => all.filter(each => each.change === change).length
  const counts = ['new', 'changed', 'same', 'skipped'].map(change => `${count(change)} ${change}`).join(', ')
  process.stderr.write(`${counts}${answer.dry_run === true ? '; nothing was saved, pass --apply to save' : ''}\n`)
  return 0
}

// Prices per million tokens, and targets as they are written in options.
function derive({ pricing, targets }: Json): Json {
  const { prompt, completion, tiers } = pricing as Json
  const tierList = (tiers ?? []) as readonly Json[]
  return {
    prompt_per_million: perMillion(prompt),
    completion_per_million: perMillion(completion),
    tiers: tierList.map(
      tier => `above ${tier.above_prompt_tokens}: ${perMillion(tier.prompt)}/${perMillion(tier.completion)}`,
    ),
    targets: (targets as readonly Json[]).map(({ provider, model }) => `${provider}:${model}`),
  }
}

function fields(input: Input): Json {
  const [prompt, completion, type] = [input.text('prompt'), input.text('completion'), input.text('type')]
  if ((prompt === undefined) !== (completion === undefined) && type !== 'embedding') {
    throw new BadUsage('--prompt and --completion must be given together; set other prices with --set pricing=JSON')
  }
  return {
    context_length: readCount(input, 'context'),
    max_output_tokens: readCount(input, 'max-output'),
    type,
    dimensions: readCount(input, 'dimensions'),
    pricing: prompt === undefined ? undefined : { prompt, completion },
    targets: input.texts('target')?.map(readTarget),
    aliases: input.texts('alias'),
  }
}

// The position is the priority.
function readTarget(text: string, priority: number): Json {
  const at = text.indexOf(':')
  if (at < 1) throw new BadUsage('--target must be PROVIDER:MODEL')
  return { provider: text.slice(0, at), model: text.slice(at + 1), priority }
}
