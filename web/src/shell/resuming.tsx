// What is shown until the session is known, and while a page is loaded.
import { Center, Loader } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import { ErrorAlert } from '../components/error-alert.tsx'

const RETRY_MS = 2000

// Retries until the server, which may be starting, responds.
export function Resuming({ resume }: { readonly resume: () => Promise<void> }): ReactNode {
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    let isOver = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const attempt = () =>
      resume().catch((problem: unknown) => {
        if (isOver) return
        setError(problem)
        timer = setTimeout(attempt, RETRY_MS)
      })
    void attempt()
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [resume])
  if (error === undefined) return <Loading />
  return (
    <Center mih="60vh" p="md">
      <ErrorAlert error={error} hint="Retrying every two seconds." />
    </Center>
  )
}

export function Loading(): ReactNode {
  return (
    <Center mih={240}>
      <Loader size="sm" aria-label="Loading" />
    </Center>
  )
}
