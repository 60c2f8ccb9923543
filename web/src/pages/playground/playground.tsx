// The playground: a streaming chat with a key and a model, with the cost of each response.
import { Button, Group, PasswordInput, Select, Stack, Text, Textarea } from '@mantine/core'
import { IconEraser, IconMessageCircle, IconPlayerStop, IconSend } from '@tabler/icons-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { DIALECTS, type Dialect, type Message, streamChat } from '../../api/chat.ts'
import { useModelDirectory } from '../../api/models.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { rememberedKey, rememberKey } from './key-in-memory.ts'
import { Turn, type TurnState } from './turn.tsx'

export default function Playground(): ReactNode {
  const models = useModelDirectory().filter(({ status, type }) => status === 'active' && type !== 'embedding')
  const [key, setKey] = useState(rememberedKey)
  const [chosen, setChosen] = useState<string | null>(null)
  const model = chosen ?? models[0]?.id ?? ''
  const [dialect, setDialect] = useState<Dialect>('chat')
  const chat = useChat(key.trim(), model, dialect)

  return (
    <Page title="Playground" about="Chat with a model using an API key. Requests are billed like any other.">
      <Panel>
        <Group gap="sm" align="flex-start" grow preventGrowOverflow={false}>
          <PasswordInput
            label="Key"
            description="Kept in memory until the page is reloaded"
            placeholder="svc_live_…"
            autoComplete="off"
            miw={260}
            value={key}
            onChange={({ currentTarget }) => {
              setKey(currentTarget.value)
              rememberKey(currentTarget.value)
            }}
          />
          <Select
            label="Model"
            description="Active models"
            searchable
            miw={220}
            nothingFoundMessage="No matching model"
            data={models.map(({ id }) => id)}
            value={model === '' ? null : model}
            onChange={setChosen}
          />
          <Select
            label="API"
            description="The dialect of the request"
            miw={180}
            allowDeselect={false}
            data={Object.entries(DIALECTS).map(([value, { label }]) => ({ value, label }))}
            value={dialect}
            onChange={value => setDialect((value ?? 'chat') as Dialect)}
          />
        </Group>
      </Panel>
      <Panel>
        <Stack gap="md">
          {chat.turns.length === 0 ? (
            <EmptyState icon={IconMessageCircle} title="Start a chat">
              Paste a key, choose a model and enter a message below.
            </EmptyState>
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: turns are only ever added at the end.
            chat.turns.map((turn, index) => <Turn key={index} of={turn} />)
          )}
          <Composer chat={chat} hasKey={key.trim() !== ''} hasModel={model !== ''} />
        </Stack>
      </Panel>
    </Page>
  )
}

type Chat = {
  readonly turns: readonly TurnState[]
  readonly isRunning: boolean
  send(question: string): Promise<void>
  stop(): void
  clear(): void
}

function useChat(key: string, model: string, dialect: Dialect): Chat {
  const [turns, setTurns] = useState<readonly TurnState[]>([])
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])

  function change(with_: Partial<TurnState> | ((turn: TurnState) => Partial<TurnState>)): void {
    setTurns(all =>
      all.map((turn, at) =>
        at === all.length - 1 ? { ...turn, ...(typeof with_ === 'function' ? with_(turn) : with_) } : turn,
      ),
    )
  }

  async function send(question: string): Promise<void> {
    const abort = new AbortController()
    running.current = abort
    setTurns([...turns, { is: 'running', model, question, answer: '', requestId: null, error: undefined }])
    try {
      await streamChat({
        dialect,
        key,
        model,
        messages: [...turns.flatMap(messagesOf), { role: 'user', content: question }],
        signal: abort.signal,
        onText: piece => change(turn => ({ answer: turn.answer + piece })),
        onRequestId: requestId => change({ requestId }),
      })
      change({ is: 'done' })
    } catch (error) {
      change(abort.signal.aborted ? { is: 'stopped' } : { is: 'failed', error })
    }
  }

  return {
    turns,
    isRunning: turns.at(-1)?.is === 'running',
    send,
    stop: () => running.current?.abort(),
    clear: () => setTurns([]),
  }
}

// The messages of an earlier turn, sent as context.
function messagesOf({ question, answer }: TurnState): readonly Message[] {
  if (answer === '') return []
  return [
    { role: 'user', content: question },
    { role: 'assistant', content: answer },
  ]
}

type ComposerProps = { readonly chat: Chat; readonly hasKey: boolean; readonly hasModel: boolean }

function Composer({ chat, hasKey, hasModel }: ComposerProps): ReactNode {
  const { turns, isRunning } = chat
  const [text, setText] = useState('')
  const canSend = hasKey && hasModel && text.trim() !== '' && !isRunning

  function send(): void {
    if (!canSend) return
    void chat.send(text.trim())
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
          {hasKey ? `Sends to ${location.host}/v1` : 'Enter a key.'}
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
