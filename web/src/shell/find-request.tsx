// Finds a request by the ID from X-Request-Id, a log line or an error message.
import { TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { useLocation } from 'wouter'

const REQUEST_ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i

export function FindRequest(): ReactNode {
  const [, goTo] = useLocation()
  const [text, setText] = useState('')
  const [error, setError] = useState(false)

  function find(from: string): void {
    const id = requestIdIn(from)
    setError(id === undefined && from.trim() !== '')
    if (id === undefined) return
    setText('')
    goTo(`/usage/${id}`)
  }

  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        find(text)
      }}
    >
      <TextInput
        size="xs"
        w={{ base: 132, xs: 190, sm: 260 }}
        leftSection={<IconSearch size={14} />}
        placeholder="Request ID"
        aria-label="Find a request by ID"
        title={error ? 'Not a request ID (a UUID)' : undefined}
        error={error}
        value={text}
        onChange={event => {
          setText(event.currentTarget.value)
          setError(false)
        }}
        onPaste={event => {
          const pasted = event.clipboardData.getData('text')
          if (requestIdIn(pasted) === undefined) return
          event.preventDefault()
          find(pasted)
        }}
      />
    </form>
  )
}

// Also finds the ID in `chatcmpl-…` or in a log line.
function requestIdIn(text: string): string | undefined {
  return REQUEST_ID.exec(text)?.[0].toLowerCase()
}
