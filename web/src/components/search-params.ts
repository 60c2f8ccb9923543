// Filters kept in the URL, so that a link shows the same view to others.
import { useCallback } from 'react'
import { useLocation, useSearch } from 'wouter'

export type SetParams = (change: Readonly<Record<string, string | readonly string[]>>) => void

// An empty value removes a parameter, a list gives it several times. Changes replace the history entry, so the back button leaves the page.
export function useParams(): readonly [params: URLSearchParams, setParams: SetParams] {
  const search = useSearch()
  const [location, goTo] = useLocation()
  const setParams = useCallback<SetParams>(
    change => {
      const next = new URLSearchParams(search)
      for (const [name, value] of Object.entries(change)) {
        next.delete(name)
        for (const each of [value].flat()) if (each !== '') next.append(name, each)
      }
      const text = next.toString()
      goTo(text === '' ? location : `${location}?${text}`, { replace: true })
    },
    [search, location, goTo],
  )
  return [new URLSearchParams(search), setParams]
}
