// The filter of a report, the same for rows and for sums: chats, unless the endpoint says otherwise.
import type { UsageSpan } from '../../contract/operator.ts'
import type { Conditions } from '../conditions.ts'

// The conditions on model and provider, each `?` standing for the requested value.
type Asking = { readonly model: string; readonly provider: string }

export function narrow(asked: Conditions, filter: UsageSpan, { model, provider }: Asking): void {
  asked.add('key_id = ?', filter.keyId)
  asked.add('account_id = ?', filter.accountId)
  asked.add(model, ...Array<string | undefined>(model.split('?').length - 1).fill(filter.model))
  asked.add(provider, filter.provider)
  asked.add('outcome = ?', filter.outcome)
  if (filter.endpoint !== 'all') asked.add('endpoint = ?', filter.endpoint ?? 'chat.completions')
}
