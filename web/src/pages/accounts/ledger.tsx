// The ledger of an account, newest entry first, by kind and time, with the balance after each entry.
import { Anchor, Button, Group, Select, Table } from '@mantine/core'
import { IconDownload, IconReceipt } from '@tabler/icons-react'
import { type ReactNode, useMemo, useState } from 'react'
import { Link } from 'wouter'
import { type LedgerFilter, type LedgerObject, ledgerCsv, useLedger } from '../../api/accounts.ts'
import { serverNow } from '../../api/connection.ts'
import { Credits } from '../../components/credits.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { MoreButton } from '../../components/more-button.tsx'
import { Panel } from '../../components/panel.tsx'
import { TableFrame } from '../../components/table-frame.tsx'
import { Timestamp } from '../../components/timestamp.tsx'
import { columnPlaces } from '../../format/amounts.ts'
import { count } from '../../format/numbers.ts'
import { formatTime, startOfMonth, UTC } from '../../format/time.ts'

const COLUMNS = [
  { name: 'Time' },
  { name: 'Type', card: 'unnamed' },
  { name: 'Amount', isRight: true, card: 'value' },
  { name: 'Balance', isRight: true },
  { name: 'Requests or note', card: 'unnamed' },
] as const

const KINDS: Readonly<Record<LedgerObject['kind'], string>> = {
  topup: 'Top-up',
  adjustment: 'Adjustment',
  charge: 'Charges of the day',
  correction: 'Correction',
}

const MONTHS = 13

export function Ledger({ accountId }: { readonly accountId: string }): ReactNode {
  const [kind, setKind] = useState('')
  const [month, setMonth] = useState('')
  const months = useMemo(() => monthsOf(serverNow()), [])
  const { from, to } = months.find(({ value }) => value === month) ?? {}
  const filter: LedgerFilter = {
    ...(kind === '' ? {} : { kind }),
    ...(from === undefined || to === undefined ? {} : { from, to }),
  }
  const isFiltered = kind !== '' || month !== ''
  const ledger = useLedger(accountId, filter)
  const entries = ledger.data?.pages.flatMap(page => page.data) ?? []
  const places = columnPlaces(entries.flatMap(({ amount, balance }) => [amount, balance ?? '0']))
  return (
    <Panel
      title="Ledger"
      flush
      actions={
        <Group gap="xs">
          <Select
            aria-label="Kind of entry"
            placeholder="All entries"
            size="xs"
            w={150}
            clearable
            data={Object.entries(KINDS).map(([value, label]) => ({ value, label }))}
            value={kind === '' ? null : kind}
            onChange={value => setKind(value ?? '')}
          />
          <Select
            aria-label="Month (UTC)"
            placeholder="Month (UTC)"
            size="xs"
            w={130}
            clearable
            data={months.map(({ value, label }) => ({ value, label }))}
            value={month === '' ? null : month}
            onChange={value => setMonth(value ?? '')}
          />
          <Button
            component="a"
            href={ledgerCsv(accountId, filter)}
            download="ledger.csv"
            size="xs"
            variant="default"
            leftSection={<IconDownload size={15} />}
          >
            Export CSV
          </Button>
        </Group>
      }
    >
      {ledger.error !== null && <ErrorAlert error={ledger.error} onRetry={() => void ledger.refetch()} />}
      {entries.length > 0 && (
        <TableFrame label="Ledger" columns={COLUMNS}>
          {entries.map(entry => (
            <Table.Tr key={entry.id}>
              <Table.Td>
                {entry.from === null ? (
                  <Timestamp at={entry.created_at} />
                ) : (
                  <span className="number">{formatTime(entry.from, 'date', UTC)} (UTC)</span>
                )}
              </Table.Td>
              <Table.Td>{KINDS[entry.kind]}</Table.Td>
              <Table.Td className="right">
                <Credits value={entry.amount} places={places} />
              </Table.Td>
              <Table.Td className="right">
                <Credits value={entry.balance ?? '0'} places={places} hasZero />
              </Table.Td>
              <Table.Td className="break" maw={420}>
                <Note of={entry} accountId={accountId} />
              </Table.Td>
            </Table.Tr>
          ))}
        </TableFrame>
      )}
      {ledger.isSuccess && entries.length === 0 && (
        <EmptyState icon={IconReceipt} title={isFiltered ? 'No matching entries' : 'No ledger entries yet'}>
          {isFiltered
            ? 'Choose another kind or month.'
            : 'Until credits are added, requests to priced models are refused with 402.'}
        </EmptyState>
      )}
      <MoreButton of={ledger} />
    </Panel>
  )
}

function Note({ of: entry, accountId }: { readonly of: LedgerObject; readonly accountId: string }): ReactNode {
  if (entry.request_id !== null) {
    return (
      <Anchor component={Link} href={`/usage/${entry.request_id}`} size="sm" className="mono">
        {entry.request_id}
      </Anchor>
    )
  }
  if (entry.from !== null && entry.to !== null) {
    const href = `/usage?account_id=${accountId}&endpoint=all&from=${entry.from}&to=${entry.to}`
    const [requests, errors] = [entry.requests ?? 0, entry.errors ?? 0]
    return (
      <>
        <Anchor component={Link} href={href} inherit>
          {requests === 1 ? '1 request' : `${count(requests)} requests`}
        </Anchor>
        {errors > 0 && `, ${count(errors)} of them failed or refused`}
      </>
    )
  }
  return <span className="name">{entry.note}</span>
}

// The last year by months, newest first. Of UTC, since charges are booked by days of UTC.
function monthsOf(now: number) {
  return Array.from({ length: MONTHS }, (_, ago) => {
    const start = startOfMonth(now, UTC, -ago)
    const label = formatTime(start, 'month', UTC)
    const to = new Date(startOfMonth(now, UTC, 1 - ago)).toISOString()
    return { value: label, label, from: new Date(start).toISOString(), to }
  })
}
