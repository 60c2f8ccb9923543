// The dialog that revokes a key permanently.
import { Checkbox, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { type KeyObject, useRevokeKey } from '../../api/keys.ts'
import { notify } from '../notify.tsx'
import { TypedConfirm } from '../typed-confirm.tsx'

type RevokeKeyProps = {
  readonly of: Pick<KeyObject, 'id' | 'name' | 'label'>
  readonly onClose: () => void
}

export function RevokeKey({ of: key, onClose }: RevokeKeyProps): ReactNode {
  const revoke = useRevokeKey(key.id)
  const [abortStreams, setAbortStreams] = useState(false)
  const confirm = () =>
    revoke.mutate(abortStreams, {
      onSuccess: () => {
        notify('Key revoked. No new request can start with it.')
        onClose()
      },
    })
  return (
    <TypedConfirm
      title="Revoke key"
      name={key.name}
      verb="Revoke permanently"
      isPending={revoke.isPending}
      error={revoke.error}
      onConfirm={confirm}
      onClose={onClose}
    >
      <Text size="sm">
        All secrets of <span className="mono">{key.label}</span> stop working immediately. This cannot be undone.
      </Text>
      <Checkbox
        label="Also abort running requests"
        description="Otherwise, requests that have already started can finish."
        checked={abortStreams}
        onChange={event => setAbortStreams(event.currentTarget.checked)}
      />
    </TypedConfirm>
  )
}
