// The dialog that issues a new secret; the old one keeps working for its grace period.
import type { ReactNode } from 'react'
import { type KeyObject, useRotateKey } from '../../api/keys.ts'
import { RotateDialog } from '../../components/rotate-dialog.tsx'
import { NewSecret } from './new-secret.tsx'

export type RotateKeyProps = { readonly of: KeyObject; readonly isOpen: boolean; readonly onClose: () => void }

export function RotateKey({ of: key, isOpen, onClose }: RotateKeyProps): ReactNode {
  return (
    <RotateDialog
      title="Rotate key"
      titleOfNew="Your new secret"
      errorTitle="The key was not rotated"
      rotation={useRotateKey(key.id)}
      isOpen={isOpen}
      onClose={onClose}
      show={made => <NewSecret of={made} onDone={onClose} />}
    >
      Creates a new secret and shows it once. The current secret, <span className="mono">{key.label}</span>, keeps
      working for 60 minutes so that clients can switch over without interruption. You can end it sooner.
    </RotateDialog>
  )
}
