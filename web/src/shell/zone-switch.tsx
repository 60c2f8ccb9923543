// Shows the time zone of all times in the dashboard, and switches between the browser's and UTC.
import { Button, Tooltip } from '@mantine/core'
import type { ReactNode } from 'react'
import { LOCAL_ZONE, setZone, useZone, zoneName } from '../components/zone.ts'
import { offsetName, UTC } from '../format/time.ts'

export function ZoneSwitch(): ReactNode {
  const zone = useZone()
  const other = zone === UTC ? LOCAL_ZONE : UTC
  const name = `Times in ${zoneName(zone)}`
  if (LOCAL_ZONE === UTC) return null
  return (
    <Tooltip label={`${name}. Switch to ${zoneName(other)}`}>
      <Button
        variant="subtle"
        color="gray"
        size="compact-sm"
        className="number"
        visibleFrom="sm"
        aria-label={`${name}. Switch to ${zoneName(other)}`}
        onClick={() => setZone(other)}
      >
        {offsetName(Date.now(), zone)}
      </Button>
    </Tooltip>
  )
}

// In the menu, where phones have it.
export function useZoneSwitch(): { readonly label: string; readonly change: () => void } {
  const zone = useZone()
  const other = zone === UTC ? LOCAL_ZONE : UTC
  return { label: `Times in ${zoneName(zone)}`, change: () => setZone(other) }
}
