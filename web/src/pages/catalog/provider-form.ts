// The state of the provider form: the fields of each API type, and the document that is sent.
import { useForm } from '@mantine/form'
import type { ProviderKind } from '../../../../src/domain/catalog.ts'
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

// The settings that an API type needs in addition to a base URL.
export const SETTINGS: Readonly<Partial<Record<ProviderKind, readonly string[]>>> = {
  bedrock: ['region'],
  vertex: ['project', 'location'],
}

export type ProviderFields = {
  id: string
  kind: ProviderKind
  preset: string
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
    base_url: provider?.base_url ?? '',
    api_key: '',
    region: provider?.settings.region ?? '',
    project: provider?.settings.project ?? '',
    location: provider?.settings.location ?? '',
    isActive: provider === undefined || provider.status === 'active',
  }
}

export function documentOf({ isActive, ...fields }: ProviderFields): Document {
  const given = Object.entries(fields).filter(([, value]) => value.trim() !== '')
  return {
    ...Object.fromEntries(given.map(([name, value]) => [name, value.trim()])),
    status: isActive ? 'active' : 'inactive',
  }
}

// Sends changed fields only: a changed base URL deletes the credentials, so an unchanged one is not sent.
export function changeOf(fields: ProviderFields, provider: ProviderObject): Document {
  const before = fieldsOf(provider)
  const names = ['kind', 'base_url', 'region', 'project', 'location'] as const
  const changed = names.filter(name => fields[name].trim() !== before[name])
  return {
    ...Object.fromEntries(changed.map(name => [name, fields[name].trim() === '' ? null : fields[name].trim()])),
    ...(fields.isActive === before.isActive ? {} : { status: fields.isActive ? 'active' : 'inactive' }),
  }
}
