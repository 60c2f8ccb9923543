// The sums of the filter by account, key, model, provider, day or the values of a tag.
import { Anchor, Box, Group, Select, Table, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { type Summary, type SummaryGroup, type UsageFilter, useSummary } from '../../api/usage.ts'
import { AccountName } from '../../components/account-name.tsx'
import { Credits } from '../../components/credits.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { KeyName } from '../../components/key-name.tsx'
import { Panel } from '../../components/panel.tsx'
import type { SetParams } from '../../components/search-params.ts'
import { SortableHead, sortedBy, useSort } from '../../components/sorting.tsx'
import { TableFrame } from '../../components/table-frame.tsx'
import { columnPlaces } from '../../format/amounts.ts'
import { unitLabel } from '../../format/currency.ts'
import { chartHeight } from '../../format/decimals.ts'
import { withoutControls } from '../../format/isolated.ts'
import { count, share } from '../../format/numbers.ts'
import { marginShare } from './margin-share.ts'

const GROUPS = {
  account: 'Account',
  key: 'Key',
  model: 'Model',
  provider: 'Provider',
  day: 'Day (UTC)',
  tag: 'Tag',
} as const
const TAG_NAME = /^[a-z0-9_.-]{1,32}$/

export function GroupSelect({ value, onChange }: { readonly value: string; readonly onChange: SetParams }): ReactNode {
  const [tag, setTag] = useState(value.startsWith('tag:') ? value.slice('tag:'.length) : '')
  const [isTag, setIsTag] = useState(value.startsWith('tag:'))
  return (
    <Group gap="xs" wrap="nowrap">
      <Select
        aria-label="Group by"
        placeholder="Group by"
        w={150}
        clearable
        data={Object.entries(GROUPS).map(([name, label]) => ({
          value: name,
          label: `By ${label.charAt(0).toLowerCase()}${label.slice(1)}`,
        }))}
        value={isTag ? 'tag' : value === '' ? null : value}
        onChange={next => {
          setIsTag(next === 'tag')
          if (next !== 'tag') onChange({ group: next ?? '' })
        }}
      />
      {isTag && (
        <TextInput
          aria-label="Tag name"
          placeholder="Tag, such as team"
          w={150}
          value={tag}
          error={tag !== '' && !TAG_NAME.test(tag)}
          onChange={({ currentTarget: { value: next } }) => {
            setTag(next)
            if (TAG_NAME.test(next)) onChange({ group: `tag:${next}` })
          }}
        />
      )}
    </Group>
  )
}

// Undefined if the URL names none.
export function groupOf(params: URLSearchParams): SummaryGroup | undefined {
  const group = params.get('group') ?? ''
  const isTag = group.startsWith('tag:') && TAG_NAME.test(group.slice('tag:'.length))
  return isTag || (Object.hasOwn(GROUPS, group) && group !== 'tag') ? (group as SummaryGroup) : undefined
}

type Props = { readonly groupBy: SummaryGroup; readonly filter: UsageFilter; readonly onFilter: SetParams }

export function UsageGroups({ groupBy, filter, onFilter }: Props): ReactNode {
  const { data, error, refetch } = useSummary(groupBy, filter)
  const { sort, setSort } = useSort(groupBy === 'day' ? 'group' : 'cost')
  const rows = sortedBy(data?.data ?? [], sort, COMPARED)
  const places = columnPlaces(rows.map(({ cost }) => cost))
  const most = Math.max(...rows.map(({ cost }) => chartHeight(cost)), 0)
  const label = groupBy.startsWith('tag:') ? groupBy.slice('tag:'.length) : GROUPS[groupBy as keyof typeof GROUPS]
  return (
    <Panel flush>
      {error !== null && <ErrorAlert error={error} onRetry={() => void refetch()} />}
      <TableFrame
        label="Groups"
        columns={[
          { name: label, head: <SortableHead name="group" label={label} sort={sort} onSort={setSort} /> },
          { name: 'Requests', isRight: true, head: head('requests', 'Requests') },
          { name: 'Errors', isRight: true, head: head('errors', 'Errors') },
          { name: 'Failovers', isRight: true, card: 'none', head: head('failovers', 'Failovers') },
          { name: 'Tokens in', isRight: true, head: head('prompt_tokens', 'Tokens in') },
          { name: 'Tokens out', isRight: true, head: head('completion_tokens', 'Tokens out') },
          { name: unitLabel(), isRight: true, card: 'value', head: head('cost', unitLabel()) },
          { name: 'Provider cost', isRight: true, head: head('upstream_cost', 'Provider cost') },
          { name: 'Margin', isRight: true, head: head('margin', 'Margin') },
        ]}
      >
        {rows.map(row => (
          <Table.Tr key={row.group}>
            <Table.Td>
              <GroupName groupBy={groupBy} of={row} onFilter={onFilter} />
              <Box h={3} mt={2} maw={300} w={`${shareOf(row, most)}%`} bg="indigo.4" bdrs={3} aria-hidden />
            </Table.Td>
            <Table.Td className="right number">{count(row.requests)}</Table.Td>
            <Table.Td className="right number">
              {row.errors === 0 ? '–' : `${count(row.errors)} (${share(row.errors, row.requests)})`}
            </Table.Td>
            <Table.Td className="right number" title="Requests that needed more than one attempt">
              {row.failovers === 0 ? '–' : `${count(row.failovers)} (${share(row.failovers, row.requests)})`}
            </Table.Td>
            <Table.Td className="right number">{count(row.prompt_tokens)}</Table.Td>
            <Table.Td className="right number">{count(row.completion_tokens)}</Table.Td>
            <Table.Td className="right">
              <Credits value={row.cost} places={places} />
            </Table.Td>
            <Table.Td className="right">
              {row.upstream_cost === null ? '–' : <Credits value={row.upstream_cost} places={places} />}
            </Table.Td>
            <Table.Td className="right">
              <GroupMargin of={row} places={places} />
            </Table.Td>
          </Table.Tr>
        ))}
      </TableFrame>
      {data !== undefined && (
        <Text size="xs" c="dimmed" px="md" py={6} role="status">
          {count(rows.length)} groups{rows.length === GROUPS_MAX ? ', those with the highest spend' : ''}
        </Text>
      )}
    </Panel>
  )

  function head(name: string, text: string): ReactNode {
    return <SortableHead name={name} label={text} sort={sort} onSort={setSort} />
  }
}

const GROUPS_MAX = 1000

const COMPARED = {
  group: (row: Summary) => row.group,
  requests: (row: Summary) => row.requests,
  errors: (row: Summary) => row.errors,
  failovers: (row: Summary) => row.failovers,
  prompt_tokens: (row: Summary) => row.prompt_tokens,
  completion_tokens: (row: Summary) => row.completion_tokens,
  cost: (row: Summary) => chartHeight(row.cost),
  upstream_cost: (row: Summary) => chartHeight(row.upstream_cost ?? '0'),
  margin: (row: Summary) => chartHeight(row.margin ?? '0'),
}

type GroupMarginProps = { readonly of: Summary; readonly places: number }

// With its part of what the requests whose provider cost is known were sold for.
function GroupMargin({ of: { margin, upstream_cost: paid }, places }: GroupMarginProps): ReactNode {
  if (margin === null || paid === null) return '–'
  return (
    <>
      <Credits value={margin} places={places} />{' '}
      <Text span size="xs" c="dimmed" className="number">
        {marginShare(margin, paid)}
      </Text>
    </>
  )
}

function shareOf({ cost }: Summary, most: number): number {
  return most === 0 ? 0 : Math.max(1, (100 * chartHeight(cost)) / most)
}

type GroupNameProps = { readonly groupBy: SummaryGroup; readonly of: Summary; readonly onFilter: SetParams }

// A click on a model, provider or tag shows its requests.
function GroupName({ groupBy, of: { group }, onFilter }: GroupNameProps): ReactNode {
  if (group === '') return <>{groupBy === 'model' || groupBy === 'provider' ? `no ${groupBy}` : 'none'}</>
  if (groupBy === 'account') return <AccountName id={group} />
  if (groupBy === 'key') return <KeyName id={group} />
  const filter = filterOf(groupBy, group)
  return (
    <Anchor
      component="button"
      type="button"
      size="sm"
      className="one-line"
      maw={420}
      title={group}
      onClick={() => onFilter({ ...filter, group: '' })}
    >
      {withoutControls(group)}
    </Anchor>
  )
}

function filterOf(groupBy: SummaryGroup, group: string): Readonly<Record<string, string>> {
  if (groupBy === 'day') {
    const next = new Date(Date.parse(group) + 86_400_000).toISOString()
    return { range: '', from: `${group}T00:00:00.000Z`, to: next }
  }
  return groupBy.startsWith('tag:') ? { tag: `${groupBy.slice('tag:'.length)}:${group}` } : { [groupBy]: group }
}
