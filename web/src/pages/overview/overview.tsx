// The overview page: what needs attention, totals and charts of a time range, top spenders and provider health.
import { SimpleGrid } from '@mantine/core'
import type { ReactNode } from 'react'
import { type Overview as Data, useOverview } from '../../api/overview.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Page } from '../../components/page.tsx'
import { useParams } from '../../components/search-params.ts'
import { useZone } from '../../components/zone.ts'
import { Attention } from './attention.tsx'
import { Charts } from './charts.tsx'
import { FirstSteps } from './first-steps.tsx'
import { ProviderHealth } from './provider-health.tsx'
import { RangePicker } from './range-picker.tsx'
import { endOf } from './series.ts'
import { TopSpenders } from './top-spenders.tsx'
import { Totals } from './totals.tsx'
import { ZoneNote } from './zone-note.tsx'

export default function Overview(): ReactNode {
  const [params, setParams] = useParams()
  const zone = useZone()
  const { data, error, refetch } = useOverview(params, zone)

  return (
    <Page
      title="Overview"
      about="Traffic of all accounts, updated live. Changes are against the period of the same length before."
      actions={<RangePicker params={params} onChange={setParams} />}
    >
      {error !== null && (
        <ErrorAlert error={error} title="The overview could not be loaded" onRetry={() => void refetch()} />
      )}
      {data !== undefined && (
        <>
          <Attention of={data.attention} usage={usageOf(data)} />
          {data.totals.requests === 0 && <FirstSteps />}
          <Totals of={data} usage={usageOf(data)} />
          <ZoneNote step={data.step} zone={zoneOf(data, zone)} />
          <Charts
            of={data}
            zone={zoneOf(data, zone)}
            usage={usageOf(data)}
            onZoom={(first, last) => setParams({ range: '', from: first, to: endOf(last, data) })}
          />
          <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
            <TopSpenders of={data.top} total={data.totals} />
            <ProviderHealth of={data.totals} />
          </SimpleGrid>
        </>
      )}
    </Page>
  )
}

// Days may be those of UTC, where hours are those of the chosen zone.
function zoneOf({ step, time_zone }: Data, chosen: string): string {
  return step === 'day' ? time_zone : chosen
}

function usageOf({ from, to }: Data): string {
  return `/usage?from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}`
}
