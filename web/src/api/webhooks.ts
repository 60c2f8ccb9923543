// Queries and mutations for webhooks and their deliveries.
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { List } from '../../../src/admin/input.ts'
import type { DeliveryObject, TestResult, WebhookObject, WebhookWithSecret } from '../../../src/admin/webhook-wire.ts'
import type { WebhookChange, WebhookInput } from '../../../src/admin/webhooks.ts'
import { call, ifMatch, queryOf } from './call.ts'
import { LIVE_MS, SLOW_MS } from './queries.ts'

export type { DeliveryObject, WebhookChange, WebhookInput, WebhookObject, WebhookWithSecret }

// As many as there can be.
const WEBHOOKS_PAGE = 100
const DELIVERIES_PAGE = 50

export function useWebhooks() {
  return useQuery({
    queryKey: ['webhooks', 'list'],
    queryFn: ({ signal }) =>
      call<List<WebhookObject>>('GET', `/webhooks${queryOf({ limit: WEBHOOKS_PAGE })}`, { signal }),
    refetchInterval: SLOW_MS,
  })
}

export function useWebhook(id: string) {
  return useQuery({
    queryKey: ['webhooks', 'one', id],
    queryFn: ({ signal }) => call<WebhookObject>('GET', pathOf(id), { signal }),
    refetchInterval: LIVE_MS,
  })
}

export function useDeliveries(id: string, status: string) {
  return useInfiniteQuery({
    queryKey: ['webhooks', 'deliveries', id, status],
    queryFn: ({ pageParam, signal }) =>
      call<List<DeliveryObject>>(
        'GET',
        `${pathOf(id)}/deliveries${queryOf({ status, limit: DELIVERIES_PAGE, after: pageParam })}`,
        { signal },
      ),
    initialPageParam: '',
    getNextPageParam: page => (page.has_more ? page.data.at(-1)?.id : undefined),
    placeholderData: before => before,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) === 1 ? LIVE_MS : false),
  })
}

export function useCreateWebhook() {
  return useWebhookChange((input: WebhookInput) => call<WebhookWithSecret>('POST', '/webhooks', { body: input }))
}

export function useUpdateWebhook(of: WebhookObject) {
  return useWebhookChange((change: WebhookChange) =>
    call<WebhookObject>('PATCH', pathOf(of.id), { body: change, headers: ifMatch(of) }),
  )
}

export function useDeleteWebhook(id: string) {
  return useWebhookChange(() => call('DELETE', pathOf(id)))
}

export function useRotateWebhookSecret(id: string) {
  return useWebhookChange(() => call<WebhookWithSecret>('POST', `${pathOf(id)}/rotate-secret`, { body: {} }))
}

export function useTestWebhook(id: string) {
  return useWebhookChange(() => call<TestResult>('POST', `${pathOf(id)}/test`, { body: {} }))
}

export function useResendDelivery(id: string) {
  return useWebhookChange((deliveryId: string) =>
    call<DeliveryObject>('POST', `${pathOf(id)}/deliveries/${encodeURIComponent(deliveryId)}/resend`, { body: {} }),
  )
}

function useWebhookChange<Input, Output>(change: (input: Input) => Promise<Output>) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSettled: () => client.invalidateQueries({ queryKey: ['webhooks'] }),
  })
}

function pathOf(id: string): string {
  return `/webhooks/${encodeURIComponent(id)}`
}
