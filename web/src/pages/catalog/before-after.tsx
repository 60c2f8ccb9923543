// A price per million tokens before and after a change.
import type { ReactNode } from 'react'
import { PerMillion } from './per-million.tsx'

type Props = { readonly before: string | undefined; readonly after: string | undefined }

export function BeforeAfter({ before, after }: Props): ReactNode {
  if (after === undefined) return before === undefined ? '–' : <PerMillion price={before} />
  if (before === undefined || before === after) return <PerMillion price={after} />
  return (
    <>
      <s title="before">
        <PerMillion price={before} />
      </s>{' '}
      → <PerMillion price={after} />
    </>
  )
}
