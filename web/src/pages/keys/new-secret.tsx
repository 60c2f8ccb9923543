// Shows a new secret once, with a copy button and ready-to-run snippets.
import { Alert, Button, Group, Stack, Tabs, Text } from '@mantine/core'
import { IconEye } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { useLocation } from 'wouter'
import { useBaseUrl } from '../../api/base-url.ts'
import type { KeyWithSecret } from '../../api/keys.ts'
import { useModelDirectory } from '../../api/models.ts'
import { CopyField } from '../../components/copy-field.tsx'
import { rememberKey } from '../playground/key-in-memory.ts'
import { SNIPPETS, snippets } from './snippets.ts'

export function NewSecret({ of: key, onDone }: { readonly of: KeyWithSecret; readonly onDone: () => void }): ReactNode {
  const [, goTo] = useLocation()
  const baseUrl = useBaseUrl()
  const model =
    useModelDirectory().find(({ status, type }) => status === 'active' && type !== 'embedding')?.id ?? 'demo/echo'
  const texts = snippets({ baseUrl, secret: key.secret, model })

  function tryIt(): void {
    rememberKey(key.secret)
    onDone()
    goTo('/playground')
  }

  return (
    <Stack gap="sm">
      <Alert color="orange" icon={<IconEye size={18} />} py="xs" title="Shown only once">
        Copy the secret now. Only its hash is stored, so it cannot be shown again.
      </Alert>
      <CopyField text={key.secret} label="secret" />
      <Text size="sm" c="dimmed">
        Try it:
      </Text>
      <Tabs defaultValue="curl" variant="outline">
        <Tabs.List>
          {Object.entries(SNIPPETS).map(([name, label]) => (
            <Tabs.Tab key={name} value={name}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {Object.entries(texts).map(([name, text]) => (
          <Tabs.Panel key={name} value={name} pt="xs">
            <CopyField text={text} label={`${name} snippet`} />
          </Tabs.Panel>
        ))}
      </Tabs>
      <Group justify="flex-end">
        <Button variant="default" onClick={tryIt}>
          Open in playground
        </Button>
        <Button onClick={onDone}>I have copied it</Button>
      </Group>
    </Stack>
  )
}
