// Shows a new secret once, with snippets that use it.
import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { IconEye } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { CopyField } from '../copy-field.tsx'
import { SnippetTabs } from './snippet-tabs.tsx'

export type SecretOnceProps = {
  readonly secret: string
  readonly baseUrl: string
  readonly model: string
  readonly onDone: () => void
  // A further button.
  readonly action?: ReactNode
}

export function SecretOnce({ secret, baseUrl, model, onDone, action }: SecretOnceProps): ReactNode {
  return (
    <Stack gap="sm">
      <Alert color="orange" icon={<IconEye size={18} />} py="xs" title="Shown only once">
        Copy the secret now. Only its hash is stored, so it cannot be shown again.
      </Alert>
      <CopyField text={secret} label="secret" />
      <Text size="sm" c="dimmed">
        Try it:
      </Text>
      <SnippetTabs secret={secret} baseUrl={baseUrl} model={model} />
      <Group justify="flex-end">
        {action}
        <Button onClick={onDone}>I have copied it</Button>
      </Group>
    </Stack>
  )
}
