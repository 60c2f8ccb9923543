// Makes a row of a table a link to a page. A click on a link or button inside the row is not a click on the row.
import type { MouseEvent } from 'react'
import { useLocation } from 'wouter'

type RowLink = { readonly className: string; readonly onClick: (event: MouseEvent) => void }

export function useRowLink(): (href: string) => RowLink {
  const [, goTo] = useLocation()
  return href => ({
    className: 'row-link',
    onClick: ({ target }) => {
      if (target instanceof Element && target.closest('a, button') === null) goTo(href)
    },
  })
}
