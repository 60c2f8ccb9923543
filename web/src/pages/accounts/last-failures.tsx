// The last requests of an account that failed or were refused, each with its reason.
import { Anchor, Table } from '@mantine/core'
import { IconCircleCheck } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useLastFailures } from '../../api/usage.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { KeyName } from '../../components/key-name.tsx'
import { Panel } from '../../components/panel.tsx'
import { TableFrame } from '../../components/table-frame.tsx'
import { Timestamp } from '../../components/timestamp.tsx'
import { explain } from '../usage/explain.ts'

const SHOWN_MAX = 5

const COLUMNS = [
  { name: 'Time' },
  { name: 'Key', card: 'unnamed' },
  { name: 'Model', card: 'value' },
  { name: 'Reason', card: 'unnamed' },
] as const

export function LastFailures({ accountId }: { readonly accountId: string }): ReactNode {
  const { data, isSuccess } = useLastFailures(accountId, SHOWN_MAX)
  const rows = data?.data ?? []
  return (
    <Panel
      title="Last failures"
      flush
      actions={
        <Anchor component={Link} href={`/usage?account_id=${accountId}&outcome=failed`} size="sm">
          View all failures
        </Anchor>
      }
    >
      {rows.length > 0 && (
        <TableFrame label="Last failures" columns={COLUMNS}>
          {rows.map(row => (
            <Table.Tr key={row.request_id}>
              <Table.Td>
                <Anchor component={Link} href={`/usage/${row.request_id}`} size="sm">
                  <Timestamp at={row.created_at} isShort />
                </Anchor>
              </Table.Td>
              <Table.Td>
                <KeyName id={row.key_id} hasLabel={false} />
              </Table.Td>
              <Table.Td className="break">{row.model_requested}</Table.Td>
              <Table.Td className="break" maw={620}>
                <bdi>{explain(row).sentence}</bdi>
              </Table.Td>
            </Table.Tr>
          ))}
        </TableFrame>
      )}
      {isSuccess && rows.length === 0 && <EmptyState icon={IconCircleCheck} title="No failures" />}
    </Panel>
  )
}
