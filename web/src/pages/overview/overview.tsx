// The overview page: totals and charts of a time range, top spenders, provider health and low balances.
import { SimpleGrid } from '@mantine/core'
import type { ReactNode } from 'react'
import { useOverview } from '../../api/overview.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Page } from '../../components/page.tsx'
import { useParams } from '../../components/search-params.ts'
import { useZone } from '../../components/zone.ts'
import { UTC } from '../../format/time.ts'
import { Charts } from './charts.tsx'
import { FirstSteps } from './first-steps.tsx'
import { LowBalances } from './low-balances.tsx'
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
      about="Chat traffic, updated live."
      actions={<RangePicker params={params} onChange={setParams} />}
    >
      {error !== null && (
        <ErrorAlert error={error} title="The overview could not be loaded" onRetry={() => void refetch()} />
      )}
      {data !== undefined && (
        <>
          <LowBalances of={data.low_balances} />
          {data.totals.requests === 0 && <FirstSteps />}
          <Totals of={data.totals} />
          <ZoneNote step={data.step} zone={data.step === 'day' ? UTC : zone} />
          <Charts
            of={data}
            zone={data.step === 'day' ? UTC : zone}
            onZoom={(first, last) => setParams({ range: '', from: first, to: endOf(last, data) })}
          />
          <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
            <TopSpenders of={data.top} total={data.totals} />
            <ProviderHealth />
          </SimpleGrid>
        </>
      )}
    </Page>
  )
}
