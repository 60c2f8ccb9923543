// Shows the signing secret of a webhook once.
import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { IconEye } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { CopyField } from '../../components/copy-field.tsx'

type Props = { readonly secret: string; readonly onDone: () => void }

export function NewWebhookSecret({ secret, onDone }: Props): ReactNode {
  return (
    <Stack gap="sm">
      <Alert color="orange" icon={<IconEye size={18} />} py="xs" title="Shown only once">
        Copy the secret now. It is stored encrypted and cannot be shown again.
      </Alert>
      <CopyField text={secret} label="secret" />
      <Text size="sm" c="dimmed">
        The receiver verifies the header <span className="mono">webhook-signature</span> with it, for example with a
        library of the Standard Webhooks specification.
      </Text>
      <Group justify="flex-end">
        <Button onClick={onDone}>I have copied it</Button>
      </Group>
    </Stack>
  )
}
