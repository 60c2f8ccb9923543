// The dialog that creates a key and then shows its secret once.
import { Button, Group, Modal, Stack } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import { useAccountDirectory } from '../../api/accounts.ts'
import { type KeyWithSecret, useCreateKey } from '../../api/keys.ts'
import { AccountSelect } from '../../components/account-name.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { showAtField } from '../../components/show-at-field.ts'
import { useZone } from '../../components/zone.ts'
import { changeOf, KeyFieldset, useKeyForm } from './key-form.tsx'
import { NewSecret } from './new-secret.tsx'

export type CreateKeyProps = { readonly isOpen: boolean; readonly onClose: () => void; readonly accountId?: string }

export function CreateKey({ isOpen, onClose, accountId = '' }: CreateKeyProps): ReactNode {
  const [made, setMade] = useState<KeyWithSecret>()
  const close = () => {
    setMade(undefined)
    onClose()
  }
  return (
    <Modal
      opened={isOpen}
      onClose={close}
      size="lg"
      title={made === undefined ? 'Create key' : 'Your new key'}
      // The secret must not be lost by a click outside the dialog.
      closeOnClickOutside={made === undefined}
      closeOnEscape={made === undefined}
    >
      {made === undefined ? (
        <Form accountId={accountId} onMade={setMade} onCancel={close} />
      ) : (
        <NewSecret of={made} onDone={close} />
      )}
    </Modal>
  )
}

type FormProps = {
  readonly accountId: string
  readonly onMade: (key: KeyWithSecret) => void
  readonly onCancel: () => void
}

function Form({ accountId, onMade, onCancel }: FormProps): ReactNode {
  const form = useKeyForm()
  const zone = useZone()
  const create = useCreateKey()
  const [problem, setProblem] = useState<unknown>()
  const accounts = useAccountDirectory()
  // Where there is one account, there is nothing to choose.
  const only = accounts.length === 1 ? (accounts[0]?.id ?? '') : ''
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the account filter of the list changes.
  useEffect(() => form.setFieldValue('account_id', accountId || only), [accountId, only])

  const submit = form.onSubmit(fields => {
    if (create.isPending) return
    setProblem(undefined)
    if (fields.account_id === '') return form.setFieldError('account_id', 'Choose an account')
    create.mutate(
      { ...changeOf(fields, true, zone), account_id: fields.account_id },
      { onSuccess: onMade, onError: error => showAtField(form, error) || setProblem(error) },
    )
  })

  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <AccountSelect
          label="Account"
          placeholder="Choose an account"
          description="Charged for this key's requests"
          isRequired
          value={form.values.account_id}
          onChange={id => form.setFieldValue('account_id', id)}
          error={form.errors.account_id}
        />
        <KeyFieldset form={form} isNew />
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
