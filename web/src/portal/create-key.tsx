// The dialog that creates a key within the limits of the account and then shows its secret once.
import { Button, Collapse, Group, Modal, NumberInput, SimpleGrid, Stack, TagsInput, TextInput } from '@mantine/core'
import { type UseFormReturnType, useForm } from '@mantine/form'
import { useDisclosure } from '@mantine/hooks'
import { type ReactNode, useState } from 'react'
import { useCreateKey } from '../api/keys.ts'
import { BudgetFields } from '../components/budget-fields.tsx'
import { ErrorAlert } from '../components/error-alert.tsx'
import { KEY_VALIDATION } from '../components/keys/key-validation.ts'
import { showAtField } from '../components/show-at-field.ts'
import { useZone, zoneName } from '../components/zone.ts'
import { count } from '../format/numbers.ts'
import { useAccount } from './data.ts'
import { inputOf, type KeyFields, NEW_KEY } from './key-fields.ts'
import { NewKeySecret } from './new-key-secret.tsx'

type Made = { readonly secret: string; readonly allowed_models: readonly string[] }

export function CreateKey({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [made, setMade] = useState<Made>()
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={made === undefined ? 'Create key' : 'Your new key'}
      // The secret must not be lost by a click outside the dialog.
      closeOnClickOutside={made === undefined}
      closeOnEscape={made === undefined}
    >
      {made === undefined ? (
        <Form onMade={setMade} onCancel={onClose} />
      ) : (
        <NewKeySecret secret={made.secret} models={made.allowed_models} onDone={onClose} />
      )}
    </Modal>
  )
}

type FormProps = { readonly onMade: (key: Made) => void; readonly onCancel: () => void }

function Form({ onMade, onCancel }: FormProps): ReactNode {
  const form = useForm<KeyFields>({ initialValues: NEW_KEY, validate: KEY_VALIDATION })
  const zone = useZone()
  const create = useCreateKey()
  const [problem, setProblem] = useState<unknown>()
  const [hasMore, more] = useDisclosure(false)

  const submit = form.onSubmit(fields => {
    if (create.isPending) return
    setProblem(undefined)
    create.mutate(inputOf(fields, zone), {
      onSuccess: onMade,
      onError: error => {
        if (showAtField(form, error)) more.open()
        else setProblem(error)
      },
    })
  })

  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <TextInput
          label="Name"
          description="Who or what uses this key"
          required
          data-autofocus
          {...form.getInputProps('name')}
        />
        <Button
          variant="subtle"
          size="compact-sm"
          onClick={more.toggle}
          aria-expanded={hasMore}
          style={{ alignSelf: 'flex-start' }}
        >
          {hasMore ? 'Fewer options' : 'Limits, budgets and models'}
        </Button>
        <Collapse expanded={hasMore}>
          <Limits form={form} />
        </Collapse>
        {problem !== undefined && <ErrorAlert error={problem} title="The key was not created" />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={create.isPending}>
            Create key
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function Limits({ form }: { readonly form: UseFormReturnType<KeyFields> }): ReactNode {
  const limits = useAccount().data?.portal_key_limits ?? null
  const zone = useZone()
  const atMost = (limit: number | null | undefined, otherwise: string) =>
    limit === null || limit === undefined ? otherwise : `at most ${count(limit)}`
  const credits = limits?.credit_limit ?? null
  const days = limits?.expires_in_days ?? null
  const models = limits?.allowed_models ?? []
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        <TextInput
          label="Credit limit (lifetime)"
          inputMode="decimal"
          placeholder={credits === null ? 'no limit' : `at most ${credits}`}
          {...form.getInputProps('credit_limit')}
        />
        <NumberInput
          label="Requests per minute"
          min={1}
          allowDecimal={false}
          thousandSeparator
          placeholder={atMost(limits?.rpm_limit, 'default')}
          {...form.getInputProps('rpm_limit')}
        />
        <NumberInput
          label="Requests per day (UTC)"
          min={1}
          allowDecimal={false}
          thousandSeparator
          placeholder={atMost(limits?.daily_limit, 'default')}
          {...form.getInputProps('daily_limit')}
        />
        <NumberInput
          label="Concurrent requests"
          min={1}
          allowDecimal={false}
          placeholder={atMost(limits?.max_concurrent, 'default')}
          {...form.getInputProps('max_concurrent')}
        />
      </SimpleGrid>
      <BudgetFields
        value={form.values.budgets}
        onChange={budgets => form.setFieldValue('budgets', budgets)}
        error={form.errors.budgets}
      />
      <TagsInput
        label="Models"
        description={
          models.length === 0
            ? 'Names, or patterns with *. Leave empty to allow all models.'
            : `Within ${models.join(', ')}. Leave empty to allow all of these.`
        }
        splitChars={[',', ' ', '\n']}
        {...form.getInputProps('allowed_models')}
      />
      <TagsInput
        label="IP allowlist"
        description="IP addresses or CIDR ranges such as 10.0.0.0/8. Leave empty to allow any address."
        splitChars={[',', ' ', '\n']}
        {...form.getInputProps('ip_allowlist')}
      />
      <TextInput
        label="Expires"
        description={
          days === null
            ? `${zoneName(zone)}. Leave empty for a key that does not expire.`
            : `${zoneName(zone)}, within ${days} days. Leave empty for ${days} days.`
        }
        type="datetime-local"
        {...form.getInputProps('expires_at')}
      />
    </Stack>
  )
}
