// The settings of the playground: what is sent, and which account or key is charged.
import {
  Button,
  Collapse,
  Group,
  NumberInput,
  PasswordInput,
  Select,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { type ChatOptions, DIALECTS, type Dialect } from '../../api/chat.ts'
import type { ModelObject } from '../../api/models.ts'
import { AccountSelect } from '../../components/account-name.tsx'

export type Settings = ChatOptions & {
  readonly account: string
  // Instead of a key of the operator's own.
  readonly pasted: string
  readonly model: string
  // Empty: no comparison.
  readonly other: string
  readonly dialect: Dialect
}

export const NO_SETTINGS: Settings = {
  account: '',
  pasted: '',
  model: '',
  other: '',
  dialect: 'chat',
  system: '',
  temperature: undefined,
  maxTokens: undefined,
  provider: undefined,
}

type Props = {
  readonly of: Settings
  readonly models: readonly ModelObject[]
  readonly onChange: (change: Partial<Settings>) => void
}

export function SettingsForm({ of, models, onChange }: Props): ReactNode {
  const [isOpen, more] = useDisclosure(of.pasted !== '')
  const ids = models.map(({ id }) => id)
  const providers = new Set(
    models.filter(({ id }) => id === of.model).flatMap(({ targets }) => targets.map(({ provider }) => provider)),
  )
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 4 }} spacing="sm">
        <Select
          label="Model"
          searchable
          nothingFoundMessage="No matching model"
          data={ids}
          value={of.model === '' ? null : of.model}
          onChange={model => onChange({ model: model ?? '', provider: undefined })}
        />
        <Select
          label="Compare with"
          placeholder="no other model"
          searchable
          clearable
          nothingFoundMessage="No matching model"
          data={ids.filter(id => id !== of.model)}
          value={of.other === '' ? null : of.other}
          onChange={other => onChange({ other: other ?? '' })}
        />
        <Select
          label="API"
          allowDeselect={false}
          data={Object.entries(DIALECTS).map(([value, { label }]) => ({ value, label }))}
          value={of.dialect}
          onChange={dialect => onChange({ dialect: (dialect ?? 'chat') as Dialect })}
        />
        <AccountSelect
          label="Paid by"
          placeholder="the default account"
          value={of.account}
          onChange={account => onChange({ account })}
        />
      </SimpleGrid>
      <Group gap="xs">
        <Button variant="subtle" size="compact-sm" onClick={more.toggle} aria-expanded={isOpen}>
          {isOpen ? 'Fewer settings' : 'System prompt, provider, key…'}
        </Button>
      </Group>
      <Collapse expanded={isOpen}>
        <Stack gap="sm">
          <Textarea
            label="System prompt"
            autosize
            minRows={2}
            maxRows={8}
            value={of.system}
            onChange={({ currentTarget }) => onChange({ system: currentTarget.value })}
          />
          <SimpleGrid cols={{ base: 1, sm: 2, lg: 4 }} spacing="sm">
            <NumberInput
              label="Temperature"
              placeholder="the model’s default"
              min={0}
              max={2}
              step={0.1}
              value={of.temperature ?? ''}
              onChange={value => onChange({ temperature: value === '' ? undefined : Number(value) })}
            />
            <NumberInput
              label="Max output tokens"
              placeholder="the model’s default"
              min={1}
              allowDecimal={false}
              value={of.maxTokens ?? ''}
              onChange={value => onChange({ maxTokens: value === '' ? undefined : Number(value) })}
            />
            <Select
              label="Provider"
              placeholder="any, by routing"
              clearable
              data={[...providers]}
              value={of.provider ?? null}
              onChange={provider => onChange({ provider: provider ?? undefined })}
            />
            <PasswordInput
              label="Key"
              placeholder="made for you"
              autoComplete="off"
              value={of.pasted}
              onChange={({ currentTarget }) => onChange({ pasted: currentTarget.value })}
            />
          </SimpleGrid>
          <Text size="xs" c="dimmed">
            Without a pasted key the server makes one for you: valid for an hour, for at most one credit of the account
            that pays, and named “Playground” in the lists.
          </Text>
        </Stack>
      </Collapse>
    </Stack>
  )
}
