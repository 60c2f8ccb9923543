// The page for unknown URLs.
import { Anchor } from '@mantine/core'
import { IconMapQuestion } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { EmptyState } from '../components/empty-state.tsx'
import { Page } from '../components/page.tsx'

export function NotFound(): ReactNode {
  return (
    <Page title="Page not found">
      <EmptyState icon={IconMapQuestion} title="This page does not exist">
        The link may be outdated. Go to the{' '}
        <Anchor component={Link} href="/overview" inherit>
          overview
        </Anchor>
        .
      </EmptyState>
    </Page>
  )
}
