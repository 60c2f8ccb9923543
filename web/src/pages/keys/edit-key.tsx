// The dialog that changes a key's limits; changes apply from the next request.
import { Button, Group, Modal, Stack } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { type KeyObject, useUpdateKey } from '../../api/keys.ts'
import { ConflictAlert } from '../../components/conflict-alert.tsx'
import { notify } from '../../components/notify.tsx'
import { showAtField } from '../../components/show-at-field.ts'
import { useZone } from '../../components/zone.ts'
import { toInput } from '../../format/time.ts'
import { changeOf, KeyFieldset, useKeyForm } from './key-form.tsx'

type Props = { readonly of: KeyObject; readonly onClose: () => void }

export function EditKey({ of: latest, onClose }: Props): ReactNode {
  // The version that the form was filled from: later changes by others must not count as this operator's.
  const [key, setKey] = useState(latest)
  const [reading, setReading] = useState(0)
  const reload = () => {
    setKey(latest)
    setReading(reading + 1)
  }
  return (
    <Modal opened onClose={onClose} title="Edit key" size="lg">
      <Form key={reading} of={key} onClose={onClose} onReload={reload} />
    </Modal>
  )
}

function Form({ of: key, onClose, onReload }: Props & { readonly onReload: () => void }): ReactNode {
  const form = useKeyForm(key)
  const zone = useZone()
  const update = useUpdateKey(key)
  const [problem, setProblem] = useState<unknown>()

  const submit = form.onSubmit(fields => {
    if (update.isPending) return
    setProblem(undefined)
    update.mutate(changedOnly(changeOf(fields, false, zone), key, zone), {
      onSuccess: () => {
        notify('Key updated. The new limits apply from the next request.')
        onClose()
      },
      onError: error => showAtField(form, error) || setProblem(error),
    })
  })

  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <KeyFieldset form={form} isNew={false} />
        {problem !== undefined && <ConflictAlert error={problem} noun="key" onReload={onReload} />}
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
  )
}

// Sends changed fields only, so that changes of two operators to different fields are both kept.
function changedOnly<T extends object>(change: T, key: KeyObject, zone: string): T {
  const before: Readonly<Record<string, unknown>> = key
  const expiry = toInput(key.expires_at ?? '', zone)
  const changed = Object.entries(change).filter(([name, value]) => {
    // As the field shows it: the browser's has no seconds, and an hour is there twice when clocks are set back.
    if (name === 'expires_at' && typeof value === 'string') return toInput(value, zone) !== expiry
    return JSON.stringify(value) !== JSON.stringify(before[name])
  })
  return Object.fromEntries(changed) as T
}
