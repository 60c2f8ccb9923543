// Chooses the time range of the usage page: a fixed one, or two times.
import { Select, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { serverNow } from '../../api/connection.ts'
import type { UsageFilter } from '../../api/usage.ts'
import type { SetParams } from '../../components/search-params.ts'
import { useZone, zoneName } from '../../components/zone.ts'
import { fromInput, toInput } from '../../format/time.ts'
import { boundsOf, USAGE_RANGES, type UsageRange } from './usage-ranges.ts'

type Props = { readonly range: UsageRange; readonly filter: UsageFilter; readonly onChange: SetParams }

export function RangeSelect({ range, filter, onChange }: Props): ReactNode {
  const zone = useZone()
  const { from = '', to = '' } = filter
  const isReversed = Date.parse(from) >= Date.parse(to)

  function choose(next: string | null): void {
    if (next !== 'custom') onChange({ range: next === 'all' ? '' : (next ?? ''), from: '', to: '' })
    // Begins with the times of the range before.
    else onChange({ range: '', from: from || (boundsOf('24h', zone, serverNow()).from ?? ''), to })
  }

  return (
    <>
      <Select
        aria-label="Time range"
        data={Object.entries(USAGE_RANGES).map(([value, label]) => ({ value, label }))}
        allowDeselect={false}
        value={range}
        onChange={choose}
      />
      {range === 'custom' && (
        <>
          <Time label="From" zone={zone} value={from} onSet={at => onChange({ from: at })} />
          <Time
            label="To"
            zone={zone}
            value={to}
            onSet={at => onChange({ to: at })}
            error={isReversed ? 'Must be after “From”' : undefined}
          />
        </>
      )}
    </>
  )
}

type TimeProps = {
  readonly label: string
  readonly zone: string
  readonly value: string
  readonly onSet: (at: string) => void
  readonly error?: string | undefined
}

// The operator's zone in the field, ISO 8601 in the URL.
function Time({ label, zone, value, onSet, error }: TimeProps): ReactNode {
  return (
    <TextInput
      type="datetime-local"
      aria-label={`${label}, ${zoneName(zone)}`}
      title={`${label}, ${zoneName(zone)}`}
      leftSection={<span style={{ fontSize: 11 }}>{label}</span>}
      leftSectionWidth={44}
      value={toInput(value, zone)}
      error={error}
      onChange={({ currentTarget }) => onSet(fromInput(currentTarget.value, zone))}
    />
  )
}
