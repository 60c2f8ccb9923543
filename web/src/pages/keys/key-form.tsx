// The controls of a key as a form: the same fields to create one and to change one.
import { Checkbox, Group, NumberInput, SimpleGrid, Stack, TagsInput, TextInput } from '@mantine/core'
import { type UseFormReturnType, useForm } from '@mantine/form'
import type { ReactNode } from 'react'
import type { Scope } from '../../../../src/domain/key.ts'
import { ApiError } from '../../api/call.ts'
import type { KeyChange, KeyObject } from '../../api/keys.ts'
import { readDecimal } from '../../format/decimals.ts'

const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  'chat.completions': 'chat and quotes',
  'models.read': 'list of models',
}
const SCOPES = Object.keys(SCOPE_WORDS) as Scope[]

export type KeyFields = {
  name: string
  account_id: string
  scopes: string[]
  ip_allowlist: string[]
  rpm_limit: number | string
  daily_limit: number | string
  credit_limit: string
  max_concurrent: number | string
  expires_at: string
}

export type KeyForm = UseFormReturnType<KeyFields>

// Empty where the server's own default shall stand.
const NEW: KeyFields = {
  name: '',
  account_id: '',
  scopes: [...SCOPES],
  ip_allowlist: [],
  rpm_limit: '',
  daily_limit: '',
  credit_limit: '',
  max_concurrent: '',
  expires_at: '',
}

export function useKeyForm(key?: KeyObject): KeyForm {
  return useForm<KeyFields>({
    initialValues: key === undefined ? NEW : fieldsOf(key),
    validate: {
      name: name => (name.trim() === '' ? 'A name is needed' : name.length > 200 ? 'At most 200 characters' : null),
      credit_limit: text => (text === '' || isAmount(text) ? null : 'An amount like 25 or 0.5'),
    },
  })
}

export function KeyFieldset({ form, isNew }: { readonly form: KeyForm; readonly isNew: boolean }): ReactNode {
  const byDefault = isNew ? "server's default" : 'no limit'
  return (
    <Stack gap="sm">
      <TextInput
        label="Name"
        description="Who uses it and for what"
        required
        data-autofocus
        {...form.getInputProps('name')}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        <NumberInput
          label="Requests a minute"
          min={1}
          allowDecimal={false}
          thousandSeparator
          placeholder="server's default"
          {...form.getInputProps('rpm_limit')}
        />
        <NumberInput
          label="Requests a day (UTC)"
          min={1}
          allowDecimal={false}
          thousandSeparator
          placeholder={byDefault}
          {...form.getInputProps('daily_limit')}
        />
        <TextInput
          label="Credit limit"
          inputMode="decimal"
          placeholder="no limit"
          {...form.getInputProps('credit_limit')}
        />
        <NumberInput
          label="At once"
          min={1}
          allowDecimal={false}
          placeholder="server's default"
          {...form.getInputProps('max_concurrent')}
        />
      </SimpleGrid>
      <Checkbox.Group label="May ask for" {...form.getInputProps('scopes')}>
        <Group mt={6} gap="lg">
          {SCOPES.map(scope => (
            <Checkbox key={scope} value={scope} label={`${SCOPE_WORDS[scope]} (${scope})`} />
          ))}
        </Group>
      </Checkbox.Group>
      <TagsInput
        label="Allowed addresses"
        description="Addresses or ranges like 10.0.0.0/8; none: from anywhere"
        placeholder={form.values.ip_allowlist.length === 0 ? 'from anywhere' : ''}
        splitChars={[',', ' ', '\n']}
        {...form.getInputProps('ip_allowlist')}
      />
      <TextInput
        label="Expires"
        description="Local time; empty: never"
        type="datetime-local"
        {...form.getInputProps('expires_at')}
      />
    </Stack>
  )
}

// What the form says, in the names of the API. On creation what is empty is left to the server.
export function changeOf(fields: KeyFields, isNew: boolean): KeyChange & { readonly name: string } {
  const empty = isNew ? undefined : null
  const change = {
    name: fields.name,
    scopes: fields.scopes as Scope[],
    ip_allowlist: fields.ip_allowlist,
    rpm_limit: fields.rpm_limit === '' ? undefined : Number(fields.rpm_limit),
    daily_limit: fields.daily_limit === '' ? empty : Number(fields.daily_limit),
    credit_limit: fields.credit_limit.trim() === '' ? empty : fields.credit_limit.trim(),
    max_concurrent: fields.max_concurrent === '' ? undefined : Number(fields.max_concurrent),
    expires_at: fields.expires_at === '' ? empty : new Date(fields.expires_at).toISOString(),
  }
  return Object.fromEntries(
    Object.entries(change).filter(([, value]) => value !== undefined),
  ) as unknown as KeyChange & {
    name: string
  }
}

// Puts what the server said beside the field it is about; false if it is about none of them.
export function showAtField<T extends Record<string, unknown>>(form: UseFormReturnType<T>, error: unknown): boolean {
  if (!(error instanceof ApiError) || error.param === null) return false
  const field = error.param.split('.', 1)[0] ?? ''
  if (!(field in form.values)) return false
  form.setFieldError(field, error.message)
  return true
}

function fieldsOf(key: KeyObject): KeyFields {
  return {
    name: key.name,
    account_id: key.account_id,
    scopes: [...key.scopes],
    ip_allowlist: [...key.ip_allowlist],
    rpm_limit: key.rpm_limit,
    daily_limit: key.daily_limit ?? '',
    credit_limit: key.credit_limit ?? '',
    max_concurrent: key.max_concurrent,
    expires_at: key.expires_at === null ? '' : localInput(key.expires_at),
  }
}

// 2026-11-15T13:45 of this time zone, as the browser's field wants it.
function localInput(at: string): string {
  const date = new Date(at)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

function isAmount(text: string): boolean {
  return readDecimal(text)?.sign === ''
}
