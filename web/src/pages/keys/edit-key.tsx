// The dialog that changes a key's controls; in force with its next request.
import { Button, Group, Modal, Stack } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { type KeyObject, useUpdateKey } from '../../api/keys.ts'
import { Problem } from '../../parts/problem.tsx'
import { say } from '../../parts/say.tsx'
import { changeOf, KeyFieldset, showAtField, useKeyForm } from './key-form.tsx'

export function EditKey({ of: key, onClose }: { readonly of: KeyObject; readonly onClose: () => void }): ReactNode {
  const form = useKeyForm(key)
  const update = useUpdateKey(key.id)
  const [problem, setProblem] = useState<unknown>()

  const submit = form.onSubmit(fields => {
    if (update.isPending) return
    setProblem(undefined)
    update.mutate(changedOnly(changeOf(fields, false), key), {
      onSuccess: () => {
        say('The key was changed. Its next request goes by the new controls.')
        onClose()
      },
      onError: error => showAtField(form, error) || setProblem(error),
    })
  })

  return (
    <Modal opened onClose={onClose} title="Edit the key" size="lg">
      <form onSubmit={submit}>
        <Stack gap="sm">
          <KeyFieldset form={form} isNew={false} />
          {problem !== undefined && <Problem error={problem} title="The key was not changed" />}
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

// What two operators changed at once in different fields must both stand.
function changedOnly<T extends object>(change: T, key: KeyObject): T {
  const before: Readonly<Record<string, unknown>> = key
  const changed = Object.entries(change).filter(([name, value]) => {
    if (name === 'expires_at' && typeof value === 'string') return !sameMinute(value, key.expires_at)
    return JSON.stringify(value) !== JSON.stringify(before[name])
  })
  return Object.fromEntries(changed) as T
}

// The field of the browser knows no seconds.
function sameMinute(a: string, b: string | null): boolean {
  return b !== null && Math.floor(Date.parse(a) / 60_000) === Math.floor(Date.parse(b) / 60_000)
}
