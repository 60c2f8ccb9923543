// How a request was routed: who was considered, in which order, and why each stood there.
import { Table, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Reason } from '../../../../src/domain/routing.ts'
import type { UsageRow } from '../../api/usage.ts'
import { Panel } from '../../components/panel.tsx'
import { TableFrame } from '../../components/table-frame.tsx'

// One sentence for every reason there is; a new one in the domain is a type error here.
const REASONS: Readonly<Record<Reason, string>> = {
  priority: 'has this priority in the catalog',
  weight: 'drawn by its weight',
  cheapest: 'in the order of cost to you',
  fastest: 'in the order of speed',
  least_busy: 'in the order of requests in flight',
  requested_order: 'the caller asked for this order',
  sticky: 'served this conversation before, and may have it cached',
  fallback_model: 'a model that the caller named to fall back to',
  unhealthy: 'put behind the others: it has been failing',
  rate_limited: 'put behind the others: it is limiting us',
  last_resort: 'only because nobody else was left',
  not_in_only: 'not among those that the caller allowed',
  ignored: 'the caller asked to leave it out',
  above_max_price: 'dearer than the caller allowed',
  unsupported_parameters: 'does not take a parameter of the request',
  no_remote_media: 'does not fetch pictures by address',
  unknown_model: 'no such model is active',
  does_not_fit: 'the request does not fit its context',
  unaffordable: 'the balance does not cover it',
  no_fallbacks: 'the caller allowed no second try',
  no_credential: 'no credential of it works at the moment',
  breaker_open: 'set aside after failures, until its pause is over',
}

const COLUMNS = [{ name: 'Place' }, { name: 'Model' }, { name: 'Provider' }, { name: 'Why' }]

export function Routing({ of: row }: { readonly of: UsageRow }): ReactNode {
  return (
    <Panel title="Routing explained" flush>
      {row.routing.length === 0 ? (
        <Text size="sm" c="dimmed" px="md" pb="md">
          It ended before anybody was considered.
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
