// A text with a button that copies it to the clipboard.
import { ActionIcon, Box, Code, Group, Tooltip } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import type { ReactNode } from 'react'

export function CopyField({ text, label }: { readonly text: string; readonly label: string }): ReactNode {
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start">
      <Code block className="break" style={{ flex: 1, whiteSpace: 'pre-wrap' }}>
        {text}
      </Code>
      <CopyButton text={text} label={label} />
    </Group>
  )
}

function CopyButton({ text, label }: { readonly text: string; readonly label: string }): ReactNode {
  const clipboard = useClipboard({ timeout: 2000 })
  const words = clipboard.copied ? 'Copied' : `Copy ${label}`
  return (
    <Tooltip label={words}>
      <ActionIcon
        variant="subtle"
        color={clipboard.copied ? 'green' : 'gray'}
        aria-label={words}
        onClick={() => copy(text, clipboard.copy)}
      >
        {clipboard.copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
      </ActionIcon>
    </Tooltip>
  )
}

// Browsers allow the clipboard API on secure pages only; on plain HTTP execCommand still works.
function copy(text: string, modern: (value: string) => void): void {
  if (!window.isSecureContext) {
    const area = document.createElement('textarea')
    area.value = text
    document.body.append(area)
    area.select()
    document.execCommand('copy')
    area.remove()
  }
  modern(text)
}

export function Identifier({ id, label }: { readonly id: string; readonly label: string }): ReactNode {
  return (
    <Group gap={2} wrap="nowrap" display="inline-flex">
      <Box component="span" className="mono break">
        {id}
      </Box>
      <CopyButton text={id} label={label} />
    </Group>
  )
}
