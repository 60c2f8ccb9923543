// An address that is no page.
import { Anchor } from '@mantine/core'
import { IconMapQuestion } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { Empty } from '../parts/empty.tsx'
import { Page } from '../parts/page.tsx'

export function NotFound(): ReactNode {
  return (
    <Page title="No such page">
      <Empty icon={IconMapQuestion} title="There is nothing at this address">
        The link may be old. Go to the{' '}
        <Anchor component={Link} href="/overview" inherit>
          overview
        </Anchor>
        .
      </Empty>
    </Page>
  )
}
