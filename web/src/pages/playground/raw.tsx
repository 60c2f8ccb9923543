// A request and its response as they were sent, without the key, and as a curl command.
import { Box, Code, CopyButton, Group, Stack, Text, UnstyledButton } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { shellQuote } from '../../../../src/lib/shell-quote.ts'
import type { RawExchange } from '../../api/chat.ts'

export function Raw({ of: { path, request, status, response } }: { readonly of: RawExchange }): ReactNode {
  const [isOpen, raw] = useDisclosure(false)
  return (
    <Box>
      <UnstyledButton fz="xs" c="var(--mantine-color-anchor)" onClick={raw.toggle} aria-expanded={isOpen}>
        {isOpen ? 'Hide raw request and response' : 'Raw request and response'}
      </UnstyledButton>
      {isOpen && (
        <Stack gap={6} mt={6}>
          <Group justify="space-between">
            <Text size="xs" c="dimmed">
              POST {path}, Authorization: Bearer ••••
            </Text>
            <CopyButton value={curlOf(path, request)}>
              {({ copied, copy }) => (
                <UnstyledButton fz="xs" c="var(--mantine-color-anchor)" onClick={copy}>
                  {copied ? 'Copied' : 'Copy as curl'}
                </UnstyledButton>
              )}
            </CopyButton>
          </Group>
          <Block label="Request" text={request} />
          <Text size="xs" c="dimmed">
            {status === null ? 'No response yet' : `HTTP ${status}`}
          </Text>
          {response !== '' && <Block label="Response" text={response} />}
        </Stack>
      )}
    </Box>
  )
}

function Block({ label, text }: { readonly label: string; readonly text: string }): ReactNode {
  return (
    <Code block fz="xs" mah={260} style={{ overflow: 'auto' }} aria-label={label} tabIndex={0} role="region">
      {text}
    </Code>
  )
}

function curlOf(path: string, request: string): string {
  return `curl ${location.origin}${path} -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d ${shellQuote(request)}`
}
