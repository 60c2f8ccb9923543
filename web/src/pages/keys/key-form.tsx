// The form fields of a key, used to create and to edit one.
import { Checkbox, Group, NumberInput, SimpleGrid, Stack, TagsInput, TextInput } from '@mantine/core'
import { type UseFormReturnType, useForm } from '@mantine/form'
import type { ReactNode } from 'react'
import type { Scope } from '../../../../src/domain/key.ts'
import type { KeyChange, KeyObject } from '../../api/keys.ts'
import { useSettings } from '../../api/settings.ts'
import { type BudgetField, BudgetFields, budgetFieldsOf, budgetInputsOf } from '../../components/budget-fields.tsx'
import { KEY_VALIDATION } from '../../components/keys/key-validation.ts'
import { tagTexts } from '../../components/tags.tsx'
import { useZone, zoneName } from '../../components/zone.ts'
import { enteredAmount } from '../../format/amounts.ts'
import { count } from '../../format/numbers.ts'
import { fromInput, toInput } from '../../format/time.ts'
import { checkTags, ModelsAndTags, tagsFrom } from './models-and-tags.tsx'

const SCOPE_LABELS: Readonly<Record<Scope, string>> = {
  'chat.completions': 'chat and quotes',
  embeddings: 'embeddings',
  'models.read': 'list models',
}
const SCOPES = Object.keys(SCOPE_LABELS) as Scope[]

export type KeyFields = {
  name: string
  account_id: string
  scopes: string[]
  ip_allowlist: string[]
  rpm_limit: number | string
  daily_limit: number | string
  credit_limit: string
  max_concurrent: number | string
  budgets: BudgetField[]
  expires_at: string
  allowed_models: string[]
  tags: string[]
}

export type KeyForm = UseFormReturnType<KeyFields>

// An empty field leaves the server's default in place.
const NEW: KeyFields = {
  name: '',
  account_id: '',
  scopes: [...SCOPES],
  ip_allowlist: [],
  rpm_limit: '',
  daily_limit: '',
  credit_limit: '',
  max_concurrent: '',
  budgets: [],
  expires_at: '',
  allowed_models: [],
  tags: [],
}

export function useKeyForm(key?: KeyObject): KeyForm {
  const zone = useZone()
  return useForm<KeyFields>({
    initialValues: key === undefined ? NEW : fieldsOf(key, zone),
    validate: {
      ...KEY_VALIDATION,
      tags: checkTags,
    },
  })
}

export function KeyFieldset({ form, isNew }: { readonly form: KeyForm; readonly isNew: boolean }): ReactNode {
  const defaults = useSettings().data?.defaults
  const zone = useZone()
  const defaultOf = (name: string) => {
    const value = defaults?.[name]
    return typeof value === 'number' ? `default: ${count(value)}` : 'default'
  }
  const emptyDaily = isNew ? (defaults?.daily_limit === null ? 'no limit' : defaultOf('daily_limit')) : 'no limit'
  return (
    <Stack gap="sm">
      <TextInput
        label="Name"
        description="Who or what uses this key"
        required
        data-autofocus
        {...form.getInputProps('name')}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        <NumberInput
          label="Requests per minute"
          min={1}
          allowDecimal={false}
          thousandSeparator
          placeholder={defaultOf('rpm_limit')}
          {...form.getInputProps('rpm_limit')}
        />
        <NumberInput
          label="Requests per day (UTC)"
          min={1}
          allowDecimal={false}
          thousandSeparator
          placeholder={emptyDaily}
          {...form.getInputProps('daily_limit')}
        />
        <TextInput
          label="Credit limit in credits (lifetime)"
          description={enteredAmount(form.values.credit_limit)}
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          inputMode="decimal"
          placeholder="no limit"
          {...form.getInputProps('credit_limit')}
        />
        <NumberInput
          label="Concurrent requests"
          min={1}
          allowDecimal={false}
          placeholder={defaultOf('max_concurrent')}
          {...form.getInputProps('max_concurrent')}
        />
      </SimpleGrid>
      <BudgetFields
        value={form.values.budgets}
        onChange={budgets => form.setFieldValue('budgets', budgets)}
        error={form.errors.budgets}
      />
      <Checkbox.Group label="Scopes" {...form.getInputProps('scopes')}>
        <Group mt={6} gap="lg">
          {SCOPES.map(scope => (
            <Checkbox key={scope} value={scope} label={`${SCOPE_LABELS[scope]} (${scope})`} />
          ))}
        </Group>
      </Checkbox.Group>
      <TagsInput
        label="IP allowlist"
        description="IP addresses or CIDR ranges such as 10.0.0.0/8. Leave empty to allow any address."
        placeholder={form.values.ip_allowlist.length === 0 ? 'any address' : ''}
        splitChars={[',', ' ', '\n']}
        {...form.getInputProps('ip_allowlist')}
      />
      <ModelsAndTags form={form} />
      <TextInput
        label="Expires"
        description={`${zoneName(zone)}. Leave empty for a key that does not expire.`}
        type="datetime-local"
        {...form.getInputProps('expires_at')}
      />
    </Stack>
  )
}

// Converts the form to API fields. On creation, empty fields are left out.
export function changeOf(fields: KeyFields, isNew: boolean, zone: string): KeyChange & { readonly name: string } {
  const empty = isNew ? undefined : null
  const change = {
    name: fields.name,
    scopes: fields.scopes as Scope[],
    ip_allowlist: fields.ip_allowlist,
    rpm_limit: fields.rpm_limit === '' ? undefined : Number(fields.rpm_limit),
    daily_limit: fields.daily_limit === '' ? empty : Number(fields.daily_limit),
    credit_limit: fields.credit_limit.trim() === '' ? empty : fields.credit_limit.trim(),
    max_concurrent: fields.max_concurrent === '' ? undefined : Number(fields.max_concurrent),
    budgets: budgetInputsOf(fields.budgets),
    allowed_models: fields.allowed_models,
    tags: tagsFrom(fields.tags),
    expires_at: fields.expires_at === '' ? empty : fromInput(fields.expires_at, zone),
  }
  return Object.fromEntries(
    Object.entries(change).filter(([, value]) => value !== undefined),
  ) as unknown as KeyChange & {
    name: string
  }
}

function fieldsOf(key: KeyObject, zone: string): KeyFields {
  return {
    name: key.name,
    account_id: key.account_id,
    scopes: [...key.scopes],
    ip_allowlist: [...key.ip_allowlist],
    rpm_limit: key.rpm_limit,
    daily_limit: key.daily_limit ?? '',
    credit_limit: key.credit_limit ?? '',
    max_concurrent: key.max_concurrent,
    budgets: budgetFieldsOf(key.budgets),
    expires_at: key.expires_at === null ? '' : toInput(key.expires_at, zone),
    allowed_models: [...key.allowed_models],
    tags: tagTexts(key.tags),
  }
}
