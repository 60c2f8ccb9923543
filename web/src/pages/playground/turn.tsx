// One message and the response of each model, with provider, tokens and cost from the usage row.
import { Anchor, Box, Group, Loader, SimpleGrid, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { ApiError } from '../../api/call.ts'
import { useRequest } from '../../api/usage.ts'
import { Credits } from '../../components/credits.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { durationMs } from '../../components/usage/request-duration.ts'
import { count, duration } from '../../format/numbers.ts'
import { Raw } from './raw.tsx'
import type { AnswerState, TurnState } from './use-chat.ts'

export function Turn({ of: { question, answers } }: { readonly of: TurnState }): ReactNode {
  return (
    <Box>
      <Text size="xs" c="dimmed" fw={600}>
        You
      </Text>
      <Text size="sm" className="answer" mb="xs">
        {question}
      </Text>
      <SimpleGrid cols={{ base: 1, sm: answers.length }} spacing="md">
        {answers.map(answer => (
          <Answer key={answer.model} of={answer} />
        ))}
      </SimpleGrid>
    </Box>
  )
}

function Answer({ of: answer }: { readonly of: AnswerState }): ReactNode {
  return (
    <Box miw={0}>
      <Text size="xs" c="dimmed" fw={600}>
        {answer.model}
      </Text>
      <Text size="sm" className="answer" aria-live="polite" aria-busy={answer.is === 'running'}>
        {answer.text}
        {answer.is === 'running' && <Loader size={12} type="dots" ml={6} aria-label="Waiting for the response" />}
      </Text>
      {answer.is === 'failed' && <Problem error={answer.error} />}
      {answer.is === 'stopped' && (
        <Text size="xs" c="dimmed">
          Stopped. Tokens generated so far are billed.
        </Text>
      )}
      {answer.is !== 'running' && answer.requestId !== null && !isUnauthenticated(answer) && (
        <Receipt id={answer.requestId} />
      )}
      {answer.is !== 'running' && answer.raw !== undefined && <Raw of={answer.raw} />}
    </Box>
  )
}

// A request without a valid key leaves no usage row.
function isUnauthenticated(answer: AnswerState): boolean {
  return answer.is === 'failed' && answer.error instanceof ApiError && answer.error.status === 401
}

// What to do about the usual ones.
const HINTS: Readonly<Record<string, string>> = {
  invalid_api_key: 'Send again to get a new key, or check the pasted one.',
  operator_is_viewer: 'With read-only access, paste a key.',
  insufficient_credits: 'Add credits to the account, or choose another one under “Paid by”.',
  missing_field: 'There is no default account: choose one under “Paid by”.',
}

function Problem({ error }: { readonly error: unknown }): ReactNode {
  const hint = error instanceof ApiError ? HINTS[error.code] : undefined
  return <ErrorAlert error={error} title="The request failed" {...(hint === undefined ? {} : { hint })} />
}

// Read from the usage row, because the stream may have been interrupted before its usage arrived.
function Receipt({ id }: { readonly id: string }): ReactNode {
  const { data: row } = useRequest(id)
  if (row === undefined) return null
  return (
    <Group gap="md" mt={6}>
      <Fact name="provider">{row.provider ?? 'none'}</Fact>
      <Fact name="tokens">
        {count(row.prompt_tokens)} in, {count(row.completion_tokens)} out
      </Fact>
      <Fact name="cost">
        <Credits value={row.cost} hasUnit />
      </Fact>
      <Fact name="duration">{duration(durationMs(row))}</Fact>
      <Anchor component={Link} href={`/usage/${id}`} size="xs">
        View request
      </Anchor>
    </Group>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactNode {
  return (
    <Text size="xs" className="number">
      <Text span size="xs" c="dimmed">
        {name}{' '}
      </Text>
      {children}
    </Text>
  )
}
