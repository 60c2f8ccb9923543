// The playground: a streaming chat with one or two models, with the cost of each response.
import { Stack } from '@mantine/core'
import { IconMessageCircle } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { useModelDirectory } from '../../api/models.ts'
import { useMayChange } from '../../api/session-context.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { Composer } from './composer.tsx'
import { rememberedKey, rememberKey } from './own-key.ts'
import { NO_SETTINGS, SettingsForm } from './settings.tsx'
import { Turn } from './turn.tsx'
import { useChat } from './use-chat.ts'

export default function Playground(): ReactNode {
  const mayChange = useMayChange()
  const models = useModelDirectory().filter(({ status, type }) => status === 'active' && type !== 'embedding')
  const [entered, setEntered] = useState({ ...NO_SETTINGS, pasted: rememberedKey() })
  const settings = { ...entered, model: entered.model || (models[0]?.id ?? '') }
  const chat = useChat(settings)
  const needsKey = !mayChange && settings.pasted.trim() === ''

  return (
    <Page title="Playground" about="Chat with one or two models. Requests are billed like any other.">
      <Panel>
        <SettingsForm
          of={settings}
          models={models}
          onChange={change => {
            if (change.pasted !== undefined) rememberKey(change.pasted)
            setEntered(before => ({ ...before, ...change }))
          }}
        />
      </Panel>
      <Panel>
        <Stack gap="md">
          {chat.turns.length === 0 ? (
            <EmptyState icon={IconMessageCircle} title="Start a chat">
              Choose a model and enter a message below.
            </EmptyState>
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: turns are only ever added at the end.
            chat.turns.map((turn, index) => <Turn key={index} of={turn} />)
          )}
          <Composer
            chat={chat}
            obstacle={
              needsKey
                ? 'With read-only access, paste a key in the settings above.'
                : settings.model === ''
                  ? 'There is no active model.'
                  : ''
            }
          />
        </Stack>
      </Panel>
    </Page>
  )
}
