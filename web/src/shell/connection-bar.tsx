// Says that the server is away and when it is back; while it is away, asks for it every two seconds.
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
        <Alert color="orange" mb="md" py="xs" icon={<Loader size={16} color="orange" />} title="The server is away">
          It does not answer: it may be restarting. This page asks again every two seconds and goes on by itself.
        </Alert>
      )}
      {state === 'restored' && (
        <Alert color="green" mb="md" py="xs" icon={<IconPlugConnected size={18} />} title="Connected again">
          The server is back. Everything on this page has been read anew.
        </Alert>
      )}
    </div>
  )
}
