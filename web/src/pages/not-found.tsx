// An address that is no page.
import { Anchor } from '@mantine/core'
import { IconMapQuestion } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { EmptyState } from '../components/empty-state.tsx'
import { Page } from '../components/page.tsx'

export function NotFound(): ReactNode {
  return (
    <Page title="No such page">
      <EmptyState icon={IconMapQuestion} title="There is nothing at this address">
        The link may be old. Go to the{' '}
        <Anchor component={Link} href="/overview" inherit>
          overview
        </Anchor>
        .
      </EmptyState>
    </Page>
  )
}
