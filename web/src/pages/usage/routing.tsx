// The routing decisions of a request: candidates, their order, and the reason for each.
import { Table, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Reason } from '../../../../src/domain/routing.ts'
import type { UsageRow } from '../../api/usage.ts'
import { Panel } from '../../components/panel.tsx'
import { TableFrame } from '../../components/table-frame.tsx'

// A new reason in the domain is a type error here.
const REASONS: Readonly<Record<Reason, string>> = {
  priority: 'priority in the catalog',
  weight: 'chosen at random by weight',
  cheapest: 'ordered by provider cost',
  fastest: 'ordered by speed',
  least_busy: 'ordered by running requests',
  requested_order: 'order requested by the client',
  sticky: 'served this conversation before; may have it cached',
  fallback_model: 'fallback model named by the client',
  unhealthy: 'moved back: recent failures',
  rate_limited: 'moved back: rate limited by the provider',
  last_resort: 'last resort: no other candidate was left',
  not_in_only: 'not in the client’s list of allowed providers',
  ignored: 'excluded by the client',
  above_max_price: 'above the client’s maximum price',
  unsupported_parameters: 'does not support a parameter of the request',
  no_remote_media: 'does not fetch images by URL',
  other_dialect: 'cannot express the request',
  unknown_model: 'unknown or inactive model',
  not_allowed: 'not among the models of the key',
  does_not_fit: 'request exceeds the context length',
  unaffordable: 'not covered by the balance',
  no_fallbacks: 'fallbacks disabled by the client',
  no_credential: 'no working credential',
  breaker_open: 'circuit breaker open',
}

const COLUMNS = [
  { name: 'Position', card: 'value' },
  { name: 'Model', card: 'title' },
  { name: 'Provider', card: 'unnamed' },
  { name: 'Reason', card: 'unnamed' },
] as const

export function Routing({ of: row }: { readonly of: UsageRow }): ReactNode {
  return (
    <Panel title="Routing" flush>
      {row.routing.length === 0 ? (
        <Text size="sm" c="dimmed" px="md" pb="md">
          {row.outcome === 'refused' ? 'Refused before routing.' : 'No routing decisions were stored.'}
        </Text>
      ) : (
        <TableFrame label="Routing" columns={COLUMNS}>
          {row.routing.map(({ model, provider, position, reason }) => (
            <Table.Tr key={`${model} ${provider} ${position} ${reason}`}>
              <Table.Td className="number">{position === null ? 'not tried' : position + 1}</Table.Td>
              <Table.Td className="break">{model}</Table.Td>
              <Table.Td>{provider ?? '–'}</Table.Td>
              <Table.Td>
                <span title={reason}>{REASONS[reason] ?? reason}</span>
              </Table.Td>
            </Table.Tr>
          ))}
        </TableFrame>
      )}
    </Panel>
  )
}
