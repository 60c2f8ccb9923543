// The base URL that clients use. The dashboard knows only its own origin, which differs when the admin API has a listener of
// its own.
import { useSettings } from './settings.ts'

export function useBaseUrl(): string {
  const { data } = useSettings()
  const isHere = (data?.admin_listen ?? null) === null
  return isHere ? `${location.origin}/v1` : 'https://your-gateway.example/v1'
}
