// The state of the provider form: the fields of each API type, and the document that is sent.
import { useForm } from '@mantine/form'
import type { ProviderApi, ProviderKind } from '../../../../src/domain/catalog.ts'
import type { Document } from '../../api/models.ts'
import type { ProviderObject } from '../../api/providers.ts'

export const KINDS: Readonly<Record<ProviderKind, string>> = {
  openai: 'OpenAI-compatible',
  anthropic: 'Anthropic',
  google: 'Google Gemini',
  vertex: 'Google Vertex AI',
  bedrock: 'Amazon Bedrock',
  cohere: 'Cohere',
  demo: 'Demo (offline)',
}
export const PRESETS = [
  'openai',
  'azure',
  'openrouter',
  'groq',
  'together',
  'fireworks',
  'mistral',
  'deepseek',
  'xai',
  'cerebras',
  'deepinfra',
  'nvidia',
  'ollama',
  'vllm',
  'lmstudio',
  'llamacpp',
]

export const APIS: Readonly<Record<ProviderApi, string>> = {
  chat: 'Chat completions',
  responses: 'Responses',
  auto: 'Automatic',
}

// The settings that an API type may need in addition to a base URL.
export const SETTINGS: Readonly<Partial<Record<ProviderKind, readonly string[]>>> = {
  anthropic: ['project', 'location'],
  bedrock: ['region'],
  vertex: ['project', 'location'],
}

export type ProviderFields = {
  id: string
  kind: ProviderKind
  preset: string
  // Empty: by the preset or the address.
  api: ProviderApi | ''
  base_url: string
  api_key: string
  region: string
  project: string
  location: string
  isActive: boolean
}

export function useProviderForm(provider: ProviderObject | undefined) {
  return useForm<ProviderFields>({
    initialValues: fieldsOf(provider),
    validate: { id: id => (id.trim() === '' ? 'Enter an ID' : null) },
  })
}

function fieldsOf(provider: ProviderObject | undefined): ProviderFields {
  return {
    id: provider?.id ?? '',
    kind: provider?.kind ?? 'openai',
    preset: '',
    api: provider?.api ?? '',
    base_url: provider?.base_url ?? '',
    api_key: '',
    region: provider?.settings.region ?? '',
    project: provider?.settings.project ?? '',
    location: provider?.settings.location ?? '',
    isActive: provider === undefined || provider.status === 'active',
  }
}

export function documentOf(entered: ProviderFields): Document {
  const { isActive, ...fields } = withoutForeign(entered)
  const given = Object.entries(fields).filter(([, value]) => value.trim() !== '')
  return {
    ...Object.fromEntries(given.map(([name, value]) => [name, value.trim()])),
    status: isActive ? 'active' : 'inactive',
  }
}

// Only kind openai has several APIs.
function withoutForeign(entered: ProviderFields): ProviderFields {
  return entered.kind === 'openai' ? entered : { ...entered, api: '' }
}

// Sends changed fields only: a changed base URL deletes the credentials, so an unchanged one is not sent.
export function changeOf(entered: ProviderFields, provider: ProviderObject): Document {
  const before = fieldsOf(provider)
  const fields = withoutForeign(entered)
  const names = ['kind', 'api', 'base_url', 'region', 'project', 'location'] as const
  const changed = names.filter(name => fields[name].trim() !== before[name])
  return {
    ...Object.fromEntries(changed.map(name => [name, fields[name].trim() === '' ? null : fields[name].trim()])),
    ...(fields.isActive === before.isActive ? {} : { status: fields.isActive ? 'active' : 'inactive' }),
  }
}
