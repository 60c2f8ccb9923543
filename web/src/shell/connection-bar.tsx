// Shows that the connection is lost or restored; while it is lost, polls the server every two seconds.
import { Alert, Loader } from '@mantine/core'
import { IconPlugConnected } from '@tabler/icons-react'
import { type ReactNode, useEffect, useSyncExternalStore } from 'react'
import { connection, onConnection, reportResponse } from '../api/connection.ts'

const RETRY_MS = 2000

export function ConnectionBar(): ReactNode {
  const state = useSyncExternalStore(onConnection, connection)
  useEffect(() => {
    if (state !== 'lost') return undefined
    const timer = setInterval(() => {
      fetch('/ready', { cache: 'no-store' }).then(reportResponse, () => undefined)
    }, RETRY_MS)
    return () => clearInterval(timer)
  }, [state])

  return (
    <div role="status" aria-live="polite">
      {state === 'lost' && (
        <Alert color="orange" mb="md" py="xs" icon={<Loader size={16} color="orange" />} title="Connection lost">
          The server cannot be reached; it may be restarting. Retrying every two seconds.
        </Alert>
      )}
      {state === 'restored' && (
        <Alert color="green" mb="md" py="xs" icon={<IconPlugConnected size={18} />} title="Reconnected">
          The server is reachable again. The data on this page has been reloaded.
        </Alert>
      )}
    </div>
  )
}
