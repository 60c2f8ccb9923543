// Shows a new secret once, with snippets for this gateway and a model that the key may use.
import type { ReactNode } from 'react'
import { SecretOnce } from '../components/keys/secret-once.tsx'
import { usePortalSession } from './session.ts'

export type NewKeySecretProps = {
  readonly secret: string
  readonly models: readonly string[]
  readonly onDone: () => void
}

export function NewKeySecret({ secret, models, onDone }: NewKeySecretProps): ReactNode {
  const { base_url: baseUrl } = usePortalSession()
  return <SecretOnce secret={secret} baseUrl={baseUrl} model={useExampleModel(models)} onDone={onDone} />
}

// The first model by its full name, else one that the gateway serves.
export function useExampleModel(models: readonly string[] = []): string {
  const { example_model: example } = usePortalSession()
  return models.find(name => !name.includes('*')) ?? example ?? 'MODEL'
}
