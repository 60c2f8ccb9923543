// The page for unknown URLs of the portal.
import { Anchor } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { Page } from '../../components/page.tsx'

export default function NotFound(): ReactNode {
  return (
    <Page title="Page not found">
      <Anchor component={Link} href="/">
        Overview
      </Anchor>
    </Page>
  )
}
