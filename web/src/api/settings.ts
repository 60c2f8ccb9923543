// The query for the server's settings.
import { useQuery } from '@tanstack/react-query'
import type { SettingsObject } from '../../../src/admin/settings.ts'
import { call } from './call.ts'
import { SLOW_MS } from './queries.ts'

export type { SettingsObject }

export function useSettings() {
  return useQuery({
    queryKey: ['settings'],
    queryFn: ({ signal }) => call<SettingsObject>('GET', '/settings', { signal }),
    refetchInterval: SLOW_MS,
  })
}
