// The fields of a webhook: address, events, account, format and description.
import { Button, Checkbox, Group, Radio, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { EVENT_TYPES, typesOf } from '../../../../src/domain/events.ts'
import type { WebhookInput, WebhookObject } from '../../api/webhooks.ts'
import { AccountSelect } from '../../components/account-name.tsx'
import { EVENT_GROUPS, patternsOf } from './event-types.ts'

export type WebhookFields = {
  readonly url: string
  readonly types: readonly string[]
  readonly accountId: string
  readonly format: WebhookObject['format']
  readonly description: string
}

export function useWebhookFields(of: WebhookObject | undefined) {
  return useState<WebhookFields>({
    url: of?.url ?? '',
    types: typesOf(of?.events ?? []),
    accountId: of?.account_id ?? '',
    format: of?.format ?? 'standard',
    description: of?.description ?? '',
  })
}

export function inputOf({ url, types, accountId, format, description }: WebhookFields): WebhookInput {
  return {
    url: url.trim(),
    events: patternsOf(types),
    account_id: accountId === '' ? null : accountId,
    format,
    description,
  }
}

export type WebhookFieldsetProps = {
  readonly fields: WebhookFields
  readonly onChange: (fields: WebhookFields) => void
}

export function WebhookFieldset({ fields, onChange }: WebhookFieldsetProps): ReactNode {
  const set = (change: Partial<WebhookFields>) => onChange({ ...fields, ...change })
  return (
    <Stack gap="sm">
      <TextInput
        label="URL"
        description="Events are sent to it as POST requests"
        placeholder="https://hooks.example.com/turnpike"
        required
        maxLength={2048}
        autoComplete="off"
        data-autofocus
        value={fields.url}
        onChange={event => set({ url: event.currentTarget.value })}
      />
      <EventChecklist types={fields.types} onChange={types => set({ types })} />
      <AccountSelect
        label="Account"
        placeholder="Events of all accounts"
        value={fields.accountId}
        onChange={accountId => set({ accountId })}
      />
      <Radio.Group
        label="Format"
        value={fields.format}
        onChange={format => set({ format: format as WebhookFields['format'] })}
      >
        <Stack gap={6} mt={4}>
          <Radio value="standard" label="Standard: the event as JSON, signed" />
          <Radio value="slack" label="Slack: a readable message" />
        </Stack>
      </Radio.Group>
      <TextInput
        label="Description"
        maxLength={200}
        value={fields.description}
        onChange={event => set({ description: event.currentTarget.value })}
      />
    </Stack>
  )
}

type ChecklistProps = { readonly types: readonly string[]; readonly onChange: (types: readonly string[]) => void }

function EventChecklist({ types, onChange }: ChecklistProps): ReactNode {
  const isAll = EVENT_TYPES.every(type => types.includes(type))
  return (
    <Checkbox.Group label="Events" required value={[...types]} onChange={onChange}>
      <Group my={6}>
        <Button size="compact-xs" variant="default" onClick={() => onChange(isAll ? [] : EVENT_TYPES)}>
          {isAll ? 'Select none' : 'Select all'}
        </Button>
      </Group>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
        {EVENT_GROUPS.map(group => (
          <Stack key={group.name} gap={4}>
            <Text size="xs" c="dimmed">
              {group.label}
            </Text>
            {group.types.map(type => (
              <Checkbox key={type} size="sm" value={type} label={<span className="mono">{type}</span>} />
            ))}
          </Stack>
        ))}
      </SimpleGrid>
    </Checkbox.Group>
  )
}
