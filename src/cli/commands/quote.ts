// `turnpike quote`: what a chat would cost, and whether its key may send it, without calling a provider.
import { loadClientEnv } from '../../config/command-env.ts'
import { BadUsage, type Command, type Input } from '../command.ts'
import { connect, URL_OPTIONS } from '../connection.ts'
import { readCount } from '../document.ts'
import { CLIENT_HELP, type Json, readWithKey } from '../http-client.ts'
import { printFields, printJson } from '../output.ts'
import { allOfStdin } from '../stdin.ts'

const STDIN_CHARS_MAX = 4_000_000

export const commands: Readonly<Record<string, Command>> = {
  '': {
    usage: 'quote MODEL [options]',
    about: 'Shows what a chat would cost and which limits it would meet. No provider is called and nothing is charged.',
    examples: ['turnpike quote gpt-4o --message "Say hello" --max-tokens 100', 'turnpike quote gpt-4o < prompt.txt'],
    options: {
      message: { value: 'TEXT', about: 'the message (default: read stdin)' },
      'max-tokens': { value: 'N', about: 'maximum number of tokens of the response' },
    },
    commonOptions: URL_OPTIONS,
    more: `Reads the API key from TURNPIKE_API_KEY.\n\n${CLIENT_HELP}`,
    takes: [1, 1],
    run: quote,
  },
}

async function quote(input: Input): Promise<number> {
  const { apiKey } = loadClientEnv()
  if (apiKey === undefined) throw new BadUsage('set TURNPIKE_API_KEY to the key that would send the chat')
  if (input.text('message') === undefined && process.stdin.isTTY)
    throw new BadUsage('pass --message, or write the message to stdin')
  const content = input.text('message') ?? (await allOfStdin(STDIN_CHARS_MAX))
  const maxTokens = readCount(input, 'max-tokens')
  const body = { model: input.args[0], messages: [{ role: 'user', content }], max_tokens: maxTokens }
  const quoted = await readWithKey(await connect(input), '/chat/completions/quote', apiKey, body)
  if (input.json) printJson(quoted)
  else show(quoted)
  return 0
}

type Figures = { readonly estimated: string | number; readonly worst_case: string | number }

function show({ model, allowed, candidates, tokens, cost, hold, limits }: Json): void {
  const { prompt, completion } = tokens as { readonly prompt: Figures; readonly completion: Figures }
  const both = ({ estimated, worst_case: worst }: Figures) => `${estimated} estimated, ${worst} at most`
  const verdicts = Object.entries(limits as Readonly<Record<string, { readonly verdict: string }>>)
  const providers = (candidates as readonly Json[]).flatMap(({ provider }) =>
    provider === null ? [] : [String(provider)],
  )
  printFields([
    ['model', String(model)],
    ['allowed', allowed === true ? 'yes' : 'no'],
    ['cost', `${both(cost as Figures)} (credits)`],
    ['hold', String(hold)],
    ['prompt tokens', both(prompt)],
    ['completion tokens', both(completion)],
    ['providers', [...new Set(providers)].join(', ') || 'none'],
    ...verdicts.map(([name, { verdict }]) => [`limit ${name}`, verdict] as const),
  ])
}
