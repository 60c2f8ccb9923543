// Usage of the account: a range, its sums and charts, and the requests in it.
import { Box, Button, Group, Select, SimpleGrid, Text } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { type ReactNode, useMemo } from 'react'
import { apiUrl, queryOf } from '../../api/call.ts'
import { RANGES, rangeOf } from '../../api/ranges.ts'
import { Credits } from '../../components/credits.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { KeySelect } from '../../components/key-name.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { type SetParams, useParams } from '../../components/search-params.ts'
import { OUTCOME_FILTERS } from '../../components/usage/outcomes.ts'
import { useZone } from '../../components/zone.ts'
import { count, share } from '../../format/numbers.ts'
import { Loading } from '../../shell/resuming.tsx'
import { Charts } from '../charts.tsx'
import { usePortalSummary } from '../data.ts'
import { RequestList } from '../request-list.tsx'
import { grainOf, type Sums, totalOf } from '../series.ts'

const MINUTE_MS = 60_000
const DEFAULT_RANGE = '7d'

export default function Usage(): ReactNode {
  const zone = useZone()
  const [params, setParams] = useParams()
  const range = useRange(params, zone)
  const filter = {
    from: new Date(range.from).toISOString(),
    ...given('key_id', params),
    ...given('outcome', params),
  }
  const grain = grainOf(range.from, range.to, range.step, zone)
  const summary = usePortalSummary(grain.groupBy, filter)
  const groups = summary.data?.data
  return (
    <Page
      title="Usage"
      about="One row per request. Prompts and responses are never stored."
      actions={
        <Button
          component="a"
          href={apiUrl(`/usage${queryOf({ ...filter, format: 'csv' })}`)}
          download="usage.csv"
          variant="default"
          leftSection={<IconDownload size={16} />}
        >
          Download CSV
        </Button>
      }
    >
      <Filters params={params} range={range.id} onChange={setParams} />
      {summary.error !== null && <ErrorAlert error={summary.error} onRetry={() => void summary.refetch()} />}
      {groups === undefined && summary.error === null && <Loading />}
      {groups !== undefined && (
        <>
          <Totals of={totalOf(groups)} />
          <Charts groups={groups} from={range.from} to={range.to} grain={grain} hasTokens />
        </>
      )}
      <RequestList filter={filter} />
    </Page>
  )
}

// Ends with the current minute, so that it stays the same between two renders.
function useRange(params: URLSearchParams, zone: string) {
  const minute = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS
  const asked = params.get('range') ?? DEFAULT_RANGE
  return useMemo(() => {
    const { id, from, step } = rangeOf(new URLSearchParams({ range: asked }), zone, minute)
    return { id, from: Date.parse(from), to: minute + MINUTE_MS, step: step === 'day' ? 'day' : 'hour' } as const
  }, [asked, zone, minute])
}

function given(name: 'key_id' | 'outcome', params: URLSearchParams) {
  const value = params.get(name) ?? ''
  return value === '' ? {} : { [name]: value }
}

type FiltersProps = { readonly params: URLSearchParams; readonly range: string; readonly onChange: SetParams }

function Filters({ params, range, onChange }: FiltersProps): ReactNode {
  return (
    <Group gap="xs">
      <Select
        aria-label="Range"
        w={{ base: '100%', xs: 150 }}
        allowDeselect={false}
        data={RANGES.map(({ id: value, label }) => ({ value, label }))}
        value={range}
        onChange={next => onChange({ range: next ?? '' })}
      />
      <Box w={{ base: '100%', xs: 220 }}>
        <KeySelect value={params.get('key_id') ?? ''} onChange={id => onChange({ key_id: id })} />
      </Box>
      <Select
        aria-label="Outcome"
        placeholder="Any outcome"
        w={{ base: '100%', xs: 190 }}
        clearable
        data={Object.entries(OUTCOME_FILTERS).map(([value, label]) => ({ value, label }))}
        value={params.get('outcome')}
        onChange={outcome => onChange({ outcome: outcome ?? '' })}
      />
    </Group>
  )
}

function Totals({ of: sums }: { readonly of: Sums }): ReactNode {
  const tiles: readonly (readonly [string, ReactNode])[] = [
    ['Credits', <Credits key="cost" value={sums.cost} />],
    ['Requests', count(sums.requests)],
    ['Errors', sums.errors === 0 ? '0' : `${count(sums.errors)} (${share(sums.errors, sums.requests)})`],
    ['Tokens', count(sums.prompt_tokens + sums.completion_tokens)],
  ]
  return (
    <SimpleGrid cols={{ base: 2, sm: 4 }} spacing="md">
      {tiles.map(([name, value]) => (
        <Panel key={name}>
          <Text size="xs" c="dimmed">
            {name}
          </Text>
          <Text fz="lg" fw={650} component="div" className="number">
            {value}
          </Text>
        </Panel>
      ))}
    </SimpleGrid>
  )
}
