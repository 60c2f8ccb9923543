// The ledger of an account, newest entry first.
import { Anchor, Table } from '@mantine/core'
import { IconReceipt } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { type LedgerObject, useLedger } from '../../api/accounts.ts'
import { Credits } from '../../components/credits.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { MoreButton } from '../../components/more-button.tsx'
import { Panel } from '../../components/panel.tsx'
import { TableFrame } from '../../components/table-frame.tsx'
import { Timestamp } from '../../components/timestamp.tsx'
import { columnPlaces } from '../../format/amounts.ts'

const COLUMNS = [
  { name: 'Time' },
  { name: 'Type', card: 'unnamed' },
  { name: 'Amount', isRight: true, card: 'value' },
  { name: 'Requests or note', card: 'unnamed' },
] as const

const KINDS: Readonly<Record<LedgerObject['kind'], string>> = {
  topup: 'Top-up',
  adjustment: 'Adjustment',
  charge: 'Charges of the day',
  correction: 'Correction',
}

export function Ledger({ accountId }: { readonly accountId: string }): ReactNode {
  const ledger = useLedger(accountId)
  const entries = ledger.data?.pages.flatMap(page => page.data) ?? []
  const places = columnPlaces(entries.map(({ amount }) => amount))
  return (
    <Panel title="Ledger" flush>
      {ledger.error !== null && <ErrorAlert error={ledger.error} onRetry={() => void ledger.refetch()} />}
      {entries.length > 0 && (
        <TableFrame label="Ledger" columns={COLUMNS}>
          {entries.map(entry => (
            <Table.Tr key={entry.id}>
              <Table.Td>
                <Timestamp at={entry.created_at} />
              </Table.Td>
              <Table.Td>{KINDS[entry.kind]}</Table.Td>
              <Table.Td className="right">
                <Credits value={entry.amount} places={places} />
              </Table.Td>
              <Table.Td className="break" maw={420}>
                {entry.request_id !== null && (
                  <Anchor component={Link} href={`/usage/${entry.request_id}`} size="sm" className="mono">
                    {entry.request_id}
                  </Anchor>
                )}
                {entry.from !== null && entry.to !== null && (
                  <Anchor
                    component={Link}
                    href={`/usage?account_id=${accountId}&from=${entry.from}&to=${entry.to}`}
                    size="sm"
                  >
                    {entry.requests === 1 ? '1 request' : `${entry.requests?.toLocaleString('en')} requests`}
                  </Anchor>
                )}
                {entry.note !== null && <span className="name">{entry.note}</span>}
              </Table.Td>
            </Table.Tr>
          ))}
        </TableFrame>
      )}
      {ledger.isSuccess && entries.length === 0 && (
        <EmptyState icon={IconReceipt} title="No ledger entries yet">
          Until credits are added, requests to priced models are rejected with 402.
        </EmptyState>
      )}
      <MoreButton of={ledger} />
    </Panel>
  )
}
