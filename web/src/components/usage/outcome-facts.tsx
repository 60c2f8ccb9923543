// How a request ended, as the pages of a request list it: outcome, status and error code.
import { Group } from '@mantine/core'
import type { ReactNode } from 'react'
import type { OperatorUsageObject } from '../../../../src/domain/usage-wire.ts'
import { StateBadge } from '../state-badge.tsx'
import { OUTCOMES } from './outcomes.ts'

type Ended = Pick<OperatorUsageObject, 'outcome' | 'state' | 'http_status' | 'error_code'>

export function outcomeFacts(row: Ended): readonly (readonly [string, ReactNode])[] {
  const outcome = (
    <Group key="outcome" gap={6}>
      <StateBadge state={row.outcome ?? row.state} word={row.outcome === null ? 'running' : OUTCOMES[row.outcome]} />
      {row.http_status !== null && <span className="number">HTTP {row.http_status}</span>}
    </Group>
  )
  const error = (
    <span key="error" className="mono">
      {row.error_code}
    </span>
  )
  return [['Outcome', outcome], ...(row.error_code === null ? [] : [['Error code', error] as const])]
}
