// Next steps, shown while there are no requests.
import { Anchor, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useBaseUrl } from '../../api/base-url.ts'
import { Panel } from '../../components/panel.tsx'

export function FirstSteps(): ReactNode {
  const url = useBaseUrl()
  return (
    <Panel title="No requests in this range">
      <Text size="sm">
        <Anchor component={Link} href="/keys" inherit>
          Create a key
        </Anchor>{' '}
        and call <span className="mono">{url}/chat/completions</span> with it, or try a model in the{' '}
        <Anchor component={Link} href="/playground" inherit>
          playground
        </Anchor>
        . Requests appear here within seconds.
      </Text>
    </Panel>
  )
}
