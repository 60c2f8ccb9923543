// Whether a webhook delivers, fails or is disabled.
import type { ReactNode } from 'react'
import type { WebhookObject } from '../../api/webhooks.ts'
import { StateBadge } from '../../components/state-badge.tsx'

export function WebhookState({ of: webhook }: { readonly of: WebhookObject }): ReactNode {
  if (!webhook.enabled)
    return <StateBadge state={webhook.disabled_reason === null ? 'inactive' : 'dead'} word="disabled" />
  return webhook.failing_since === null ? <StateBadge state="active" /> : <StateBadge state="failing" />
}

// The host of a webhook's address: the whole of it may be a secret.
export function hostOf({ url }: WebhookObject): string {
  return URL.parse(url)?.host ?? url
}
