// The parts that the pages of single objects share: the link back to the list, and the page while the object is loading.
import { Anchor, Loader } from '@mantine/core'
import { IconArrowLeft } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { ErrorAlert } from './error-alert.tsx'
import { Page } from './page.tsx'

export type BackLinkProps = { readonly href: string; readonly children: ReactNode }

export function BackLink({ href, children }: BackLinkProps): ReactNode {
  return (
    <Anchor component={Link} href={href} size="sm">
      <IconArrowLeft size={14} style={{ verticalAlign: -2 }} aria-hidden /> {children}
    </Anchor>
  )
}

export type PendingPageProps = {
  readonly title: string
  readonly above: ReactNode
  readonly error: Error | null
  readonly onRetry: () => void
}

export function PendingPage({ title, above, error, onRetry }: PendingPageProps): ReactNode {
  return (
    <Page title={title} above={above}>
      {error === null ? <Loader size="sm" aria-label="Loading" /> : <ErrorAlert error={error} onRetry={onRetry} />}
    </Page>
  )
}
