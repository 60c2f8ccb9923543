// The dialog that revokes a key for good.
import { Checkbox, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { type KeyObject, useRevokeKey } from '../../api/keys.ts'
import { notify } from '../../components/notify.tsx'
import { TypedConfirm } from '../../components/typed-confirm.tsx'

export function RevokeKey({ of: key, onClose }: { readonly of: KeyObject; readonly onClose: () => void }): ReactNode {
  const revoke = useRevokeKey(key.id)
  const [abortStreams, setAbortStreams] = useState(false)
  const confirm = () =>
    revoke.mutate(abortStreams, {
      onSuccess: () => {
        notify('The key is revoked. Nothing new starts with it, on any node.')
        onClose()
      },
    })
  return (
    <TypedConfirm
      title="Revoke the key"
      name={key.name}
      verb="Revoke for good"
      isPending={revoke.isPending}
      error={revoke.error}
      onConfirm={confirm}
      onClose={onClose}
    >
      <Text size="sm">
        Every secret of <span className="mono">{key.label}</span> is refused from this moment on. That is final: a
        revoked key never works again.
      </Text>
      <Checkbox
        label="Also cut off answers that are being streamed"
        description="Otherwise those that have begun may finish."
        checked={abortStreams}
        onChange={event => setAbortStreams(event.currentTarget.checked)}
      />
    </TypedConfirm>
  )
}
