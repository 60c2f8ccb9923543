// Filters that live in the address, so that a link shows somebody else the same.
import { useCallback } from 'react'
import { useLocation, useSearch } from 'wouter'

export type SetParams = (change: Readonly<Record<string, string>>) => void

// An empty value takes a parameter out. The page before stays what the back button goes to.
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
