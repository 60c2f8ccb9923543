// Filters kept in the URL, so that a link shows the same view to others.
import { useCallback } from 'react'
import { useLocation, useSearch } from 'wouter'

export type SetParams = (change: Readonly<Record<string, string>>) => void

// An empty value removes a parameter. Changes replace the history entry, so the back button leaves the page.
export function useParams(): readonly [params: URLSearchParams, setParams: SetParams] {
  const search = useSearch()
  const [location, goTo] = useLocation()
  const setParams = useCallback<SetParams>(
    change => {
      const next = new URLSearchParams(search)
      for (const [name, value] of Object.entries(change)) {
        if (value === '') next.delete(name)
        else next.set(name, value)
      }
      const text = next.toString()
      goTo(text === '' ? location : `${location}?${text}`, { replace: true })
    },
    [search, location, goTo],
  )
  return [new URLSearchParams(search), setParams]
}
