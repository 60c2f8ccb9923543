// Says in which time zone the charts are, and switches it.
import { Anchor, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { LOCAL_ZONE, setZone, useZone, zoneName } from '../../components/zone.ts'
import { UTC } from '../../format/time.ts'

export function ZoneNote({ step, zone }: { readonly step: string; readonly zone: string }): ReactNode {
  const chosen = useZone()
  const other = chosen === UTC ? LOCAL_ZONE : UTC
  return (
    <Text size="xs" c="dimmed" component="p" m={0}>
      {step === 'day' ? `Days of ${zoneName(zone)}. ` : `Times in ${zoneName(zone)}. `}
      {LOCAL_ZONE !== UTC && (
        <>
          <Anchor component="button" type="button" size="xs" onClick={() => setZone(other)}>
            Use {zoneName(other)}
          </Anchor>
          {'. '}
        </>
      )}
      <Text span inherit visibleFrom="sm">
        Drag over a chart or click it to zoom in.
      </Text>
      <Text span inherit hiddenFrom="sm">
        Tap a chart to zoom in.
      </Text>
    </Text>
  )
}
