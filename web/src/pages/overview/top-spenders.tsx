// The models, keys, providers and accounts with the highest spend.
import { Anchor, Box, Table, Tabs, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import type { Overview, Sums, Top } from '../../api/overview.ts'
import { Credits } from '../../components/credits.tsx'
import { Panel } from '../../components/panel.tsx'
import { TableFrame } from '../../components/table-frame.tsx'
import { columnPlaces } from '../../format/amounts.ts'
import { unit, unitLabel } from '../../format/currency.ts'
import { chartHeight } from '../../format/decimals.ts'
import { count, share } from '../../format/numbers.ts'

type Kind = keyof Overview['top']

const KINDS: Readonly<Record<Kind, { readonly word: string; readonly link: (id: string) => string }>> = {
  models: { word: 'Models', link: id => `/usage?model=${encodeURIComponent(id)}` },
  keys: { word: 'Keys', link: id => `/keys/${id}` },
  providers: { word: 'Providers', link: id => `/usage?provider=${encodeURIComponent(id)}` },
  accounts: { word: 'Accounts', link: id => `/accounts/${id}` },
}

export function TopSpenders({ of, total }: { readonly of: Overview['top']; readonly total: Sums }): ReactNode {
  const [kind, setKind] = useState<Kind>('models')
  const rows = of[kind]
  const places = columnPlaces(rows.map(({ cost }) => cost))
  return (
    <Panel title="Top spenders" about={`In ${unit()}`} flush>
      <Tabs value={kind} onChange={value => setKind((value ?? 'models') as Kind)} keepMounted={false}>
        <Tabs.List px="sm">
          {Object.entries(KINDS).map(([name, { word }]) => (
            <Tabs.Tab key={name} value={name}>
              {word}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={kind}>
          {rows.length === 0 ? (
            <Text size="sm" c="dimmed" p="md">
              No requests in this range.
            </Text>
          ) : (
            <TableFrame
              label={`Top ${kind}`}
              columns={[
                { name: KINDS[kind].word.slice(0, -1) },
                { name: 'Requests', isRight: true },
                { name: 'Error rate', isRight: true },
                { name: unitLabel(), isRight: true, card: 'value' },
              ]}
            >
              {rows.map(row => (
                <Row key={row.id} of={row} href={KINDS[kind].link(row.id)} total={total} places={places} />
              ))}
            </TableFrame>
          )}
        </Tabs.Panel>
      </Tabs>
    </Panel>
  )
}

function Row({
  of: row,
  href,
  total,
  places,
}: {
  readonly of: Top
  readonly href: string
  readonly total: Sums
  readonly places: number
}): ReactNode {
  const whole = chartHeight(total.cost)
  const part = whole === 0 ? 0 : chartHeight(row.cost) / whole
  return (
    <Table.Tr>
      <Table.Td>
        <Anchor component={Link} href={href} size="sm" className="one-line" maw={250} title={row.name ?? row.id}>
          {row.name ?? row.id}
        </Anchor>
        {row.label !== undefined && (
          <Text span size="xs" c="dimmed" className="mono" ml={6}>
            {row.label}
          </Text>
        )}
        <Box h={3} mt={2} w={`${Math.max(1, part * 100)}%`} bg="indigo.4" bdrs={3} aria-hidden />
      </Table.Td>
      <Table.Td className="right number">{count(row.requests)}</Table.Td>
      <Table.Td className="right number">{share(row.errors, row.requests)}</Table.Td>
      <Table.Td className="right">
        <Credits value={row.cost} places={places} />
      </Table.Td>
    </Table.Tr>
  )
}
