// Where callers find the gateway. The dashboard knows only its own address, which is another one where it has a listener to
// itself.
import { useSettings } from './settings.ts'

export function useBaseUrl(): string {
  const { data } = useSettings()
  const isHere = (data?.admin_listen ?? null) === null
  return isHere ? `${location.origin}/v1` : 'https://your-gateway.example/v1'
}
