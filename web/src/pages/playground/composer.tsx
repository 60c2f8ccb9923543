// The field for the next message, with send, stop and new chat.
import { Button, Group, Text, Textarea } from '@mantine/core'
import { IconEraser, IconPlayerStop, IconSend } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import type { Chat } from './use-chat.ts'

// Why nothing can be sent; empty: it can.
type Props = { readonly chat: Chat; readonly obstacle: string }

export function Composer({ chat, obstacle }: Props): ReactNode {
  const { turns, isRunning } = chat
  const [text, setText] = useState('')
  const canSend = obstacle === '' && text.trim() !== '' && !isRunning

  function send(): void {
    if (!canSend) return
    chat.send(text.trim())
    setText('')
  }

  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        send()
      }}
    >
      <Textarea
        aria-label="Message"
        placeholder="Your message. Press Enter to send, Shift+Enter for a new line."
        autosize
        minRows={2}
        maxRows={12}
        value={text}
        onChange={event => setText(event.currentTarget.value)}
        onKeyDown={event => {
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
          event.preventDefault()
          send()
        }}
      />
      <Group justify="space-between" mt="xs">
        <Text size="xs" c="dimmed">
          {obstacle === '' ? `Sends to ${location.host}/v1` : obstacle}
        </Text>
        <Group gap="xs">
          {turns.length > 0 && !isRunning && (
            <Button variant="subtle" leftSection={<IconEraser size={16} />} onClick={chat.clear}>
              New chat
            </Button>
          )}
          {isRunning ? (
            <Button variant="default" leftSection={<IconPlayerStop size={16} />} onClick={chat.stop}>
              Stop
            </Button>
          ) : (
            <Button type="submit" disabled={!canSend} leftSection={<IconSend size={16} />}>
              Send
            </Button>
          )}
        </Group>
      </Group>
    </form>
  )
}
