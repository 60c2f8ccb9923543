// The dialog that sets what keys a customer may create in the portal. An empty field is no limit.
import { Button, Group, Modal, NumberInput, SimpleGrid, Stack, TagsInput, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { type AccountObject, useUpdateAccount } from '../../api/accounts.ts'
import { ConflictAlert } from '../../components/conflict-alert.tsx'
import { notify } from '../../components/notify.tsx'
import { enteredAmount } from '../../format/amounts.ts'

type Limits = NonNullable<AccountObject['portal_key_limits']>
type NumberField = 'max_keys' | 'rpm_limit' | 'daily_limit' | 'max_concurrent' | 'expires_in_days'

const NUMBERS: Readonly<Record<NumberField, string>> = {
  max_keys: 'Active keys of the account',
  rpm_limit: 'Requests per minute',
  daily_limit: 'Requests per day (UTC)',
  max_concurrent: 'Concurrent requests',
  expires_in_days: 'Days until a key expires',
}
const NONE: Limits = {
  max_keys: null,
  rpm_limit: null,
  daily_limit: null,
  max_concurrent: null,
  credit_limit: null,
  expires_in_days: null,
  allowed_models: [],
}

type Props = { readonly of: AccountObject; readonly onClose: () => void }

export function PortalLimits({ of: latest, onClose }: Props): ReactNode {
  // The version that the form was filled from: later changes by others must not count as this operator's.
  const [account, setAccount] = useState(latest)
  const [limits, setLimits] = useState<Limits>(latest.portal_key_limits ?? NONE)
  const update = useUpdateAccount(account)
  const change = (part: Partial<Limits>) => setLimits({ ...limits, ...part })
  const isNone = Object.values(limits).every(value => value === null || (Array.isArray(value) && value.length === 0))

  function reload(): void {
    setAccount(latest)
    setLimits(latest.portal_key_limits ?? NONE)
    update.reset()
  }

  function submit(): void {
    if (update.isPending) return
    update.mutate(
      { portal_key_limits: isNone ? null : limits },
      {
        onSuccess: () => {
          notify('Limits saved. They apply to keys that customers create from now on.')
          onClose()
        },
      },
    )
  }

  return (
    <Modal opened onClose={onClose} title="Limits of keys in the portal" size="lg">
      <form
        onSubmit={event => {
          event.preventDefault()
          submit()
        }}
      >
        <Stack gap="sm">
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
            {(Object.keys(NUMBERS) as NumberField[]).map(name => (
              <NumberInput
                key={name}
                label={NUMBERS[name]}
                min={name === 'max_keys' ? 0 : 1}
                allowDecimal={false}
                thousandSeparator
                placeholder="no limit"
                value={limits[name] ?? ''}
                onChange={value => change({ [name]: value === '' ? null : Number(value) })}
              />
            ))}
            <TextInput
              label="Credit limit of a key in credits (lifetime)"
              description={enteredAmount(limits.credit_limit ?? '')}
              inputWrapperOrder={['label', 'input', 'description', 'error']}
              inputMode="decimal"
              placeholder="no limit"
              value={limits.credit_limit ?? ''}
              onChange={({ currentTarget: { value } }) => change({ credit_limit: value.trim() || null })}
            />
          </SimpleGrid>
          <TagsInput
            label="Models"
            description="Names, or patterns with *. Leave empty to allow all models."
            splitChars={[',', ' ', '\n']}
            value={[...limits.allowed_models]}
            onChange={allowed_models => change({ allowed_models })}
          />
          {update.error !== null && <ConflictAlert error={update.error} noun="account" onReload={reload} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={update.isPending}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
