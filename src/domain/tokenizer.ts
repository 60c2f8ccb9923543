// Which tokenizer a target's model uses, judged by its provider and name. OpenAI's tokenizers are known exactly; for all others
// the count of one of OpenAI's is used, times 1.5.
import type { Provider, Target } from './catalog.ts'

export type Tokenizer = {
  readonly encoding: 'o200k' | 'cl100k'
  readonly isOpenai: boolean
}

// A name is reliable only where names are OpenAI's: at its own address, at Azure's (where deployments may have other names), and
// with the prefix that resellers use for its models. Anybody may name a model gpt-4. Open weights keep their tokenizer wherever
// they run.
export function tokenizerOf(target: Pick<Target, 'model'>, provider: Pick<Provider, 'baseUrl'> | undefined): Tokenizer {
  const bare = target.model.slice(target.model.lastIndexOf('/') + 1)
  if (OPEN_WEIGHTS.test(bare)) return O200K
  const isNamedByOpenai = target.model.startsWith('openai/') || (provider !== undefined && isOpenai(provider.baseUrl))
  if (!isNamedByOpenai) return OTHER
  return NEWER.test(bare) ? O200K : OLDER.test(bare) ? CL100K : OTHER
}

const O200K: Tokenizer = { encoding: 'o200k', isOpenai: true }
const CL100K: Tokenizer = { encoding: 'cl100k', isOpenai: true }
const OTHER: Tokenizer = { encoding: 'o200k', isOpenai: false }

const OPEN_WEIGHTS = /^gpt-oss-/
const NEWER = /^(gpt-4o|chatgpt-4o|gpt-4\.[1-9]|gpt-[5-9]|o[1-9](-|$))/
const OLDER = /^(gpt-4(-|$)|gpt-3\.5|gpt-35)/

function isOpenai(baseUrl: string): boolean {
  const host = URL.parse(baseUrl)?.hostname ?? ''
  return host === 'api.openai.com' || host.endsWith('.api.openai.com') || host.endsWith('.openai.azure.com')
}
