// The playground: a streaming chat with a key and a model, with the cost of each response.
import { Button, Group, PasswordInput, Select, Stack, Text, Textarea } from '@mantine/core'
import { IconEraser, IconMessageCircle, IconPlayerStop, IconSend } from '@tabler/icons-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { type Message, streamChat } from '../../api/chat.ts'
import { useModelDirectory } from '../../api/models.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { rememberedKey, rememberKey } from './key-in-memory.ts'
import { Turn, type TurnState } from './turn.tsx'

export default function Playground(): ReactNode {
  const models = useModelDirectory().filter(({ status }) => status === 'active')
  const [key, setKey] = useState(rememberedKey)
  const [chosen, setChosen] = useState<string | null>(null)
  const [text, setText] = useState('')
  const [turns, setTurns] = useState<readonly TurnState[]>([])
  const running = useRef<AbortController>(undefined)
  const model = chosen ?? models[0]?.id ?? ''
  const isRunning = turns.at(-1)?.is === 'running'
  const canSend = key.trim() !== '' && model !== '' && text.trim() !== '' && !isRunning
  useEffect(() => () => running.current?.abort(), [])

  async function send(): Promise<void> {
    if (!canSend) return
    const abort = new AbortController()
    running.current = abort
    const asked: TurnState = {
      is: 'running',
      model,
      question: text.trim(),
      answer: '',
      requestId: null,
      error: undefined,
    }
    const change = (with_: Partial<TurnState> | ((turn: TurnState) => Partial<TurnState>)) =>
      setTurns(all =>
        all.map((turn, at) =>
          at === all.length - 1 ? { ...turn, ...(typeof with_ === 'function' ? with_(turn) : with_) } : turn,
        ),
      )
    setTurns([...turns, asked])
    setText('')
    try {
      await streamChat({
        key: key.trim(),
        model,
        messages: [...turns.flatMap(messagesOf), { role: 'user', content: asked.question }],
        signal: abort.signal,
        onText: piece => change(turn => ({ answer: turn.answer + piece })),
        onRequestId: requestId => change({ requestId }),
      })
      change({ is: 'done' })
    } catch (error) {
      change(abort.signal.aborted ? { is: 'stopped' } : { is: 'failed', error })
    }
  }

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
        </Group>
      </Panel>
      <Panel>
        <Stack gap="md">
          {turns.length === 0 ? (
            <EmptyState icon={IconMessageCircle} title="Start a chat">
              Paste a key, choose a model and enter a message below.
            </EmptyState>
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: turns are only ever added at the end.
            turns.map((turn, index) => <Turn key={index} of={turn} />)
          )}
          <form
            onSubmit={event => {
              event.preventDefault()
              void send()
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
                void send()
              }}
            />
            <Group justify="space-between" mt="xs">
              <Text size="xs" c="dimmed">
                {key.trim() === '' ? 'Enter a key.' : `Sends to ${location.host}/v1`}
              </Text>
              <Group gap="xs">
                {turns.length > 0 && !isRunning && (
                  <Button variant="subtle" leftSection={<IconEraser size={16} />} onClick={() => setTurns([])}>
                    New chat
                  </Button>
                )}
                {isRunning ? (
                  <Button
                    variant="default"
                    leftSection={<IconPlayerStop size={16} />}
                    onClick={() => running.current?.abort()}
                  >
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
        </Stack>
      </Panel>
    </Page>
  )
}

// The messages of an earlier turn, sent as context.
function messagesOf({ question, answer }: TurnState): readonly Message[] {
  if (answer === '') return []
  return [
    { role: 'user', content: question },
    { role: 'assistant', content: answer },
  ]
}
