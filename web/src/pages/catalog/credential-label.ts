// How a credential is called: by its last four characters or, where a secret is too short to show them, by its id.
import type { ProviderObject } from '../../api/providers.ts'

const ID_SHOWN = 13

export function credentialLabel({ id, last4 }: Pick<ProviderObject['credentials'][number], 'id' | 'last4'>): string {
  if (last4 !== '') return `…${last4}`
  return id.length <= ID_SHOWN ? id : `${id.slice(0, ID_SHOWN)}…`
}
