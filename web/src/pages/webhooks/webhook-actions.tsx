// The actions on a webhook: test, edit, rotate the secret, enable or disable, delete.
import { Button, Menu } from '@mantine/core'
import { IconChevronDown, IconPencil, IconSend } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { useLocation } from 'wouter'
import { useMayChange } from '../../api/session-context.ts'
import {
  useDeleteWebhook,
  useRotateWebhookSecret,
  useTestWebhook,
  useUpdateWebhook,
  type WebhookObject,
} from '../../api/webhooks.ts'
import { notify, notifyError } from '../../components/notify.tsx'
import { RotateDialog } from '../../components/rotate-dialog.tsx'
import { TypedConfirm } from '../../components/typed-confirm.tsx'
import { duration } from '../../format/numbers.ts'
import { EditWebhook } from './edit-webhook.tsx'
import { NewWebhookSecret } from './new-webhook-secret.tsx'
import { hostOf } from './webhook-state.tsx'

export function WebhookActions({ of: webhook }: { readonly of: WebhookObject }): ReactNode {
  const mayChange = useMayChange()
  const [dialog, setDialog] = useState<'edit' | 'rotate' | 'delete'>()
  const update = useUpdateWebhook(webhook)
  const close = () => setDialog(undefined)
  if (!mayChange) return null

  function turn(): void {
    const enabled = !webhook.enabled
    update.mutate(
      { enabled },
      {
        onSuccess: () => notify(enabled ? 'Webhook enabled.' : 'Webhook disabled. Waiting deliveries are canceled.'),
        onError: notifyError,
      },
    )
  }

  return (
    <>
      <SendTest of={webhook} />
      <Button variant="default" leftSection={<IconPencil size={16} />} onClick={() => setDialog('edit')}>
        Edit
      </Button>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" rightSection={<IconChevronDown size={16} />} loading={update.isPending}>
            More
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={turn}>{webhook.enabled ? 'Disable' : 'Enable'}</Menu.Item>
          <Menu.Item onClick={() => setDialog('rotate')}>Rotate secret</Menu.Item>
          <Menu.Item color="red" onClick={() => setDialog('delete')}>
            Delete
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {dialog === 'edit' && <EditWebhook of={webhook} onClose={close} />}
      {dialog === 'rotate' && <RotateSecret of={webhook} onClose={close} />}
      {dialog === 'delete' && <DeleteWebhook of={webhook} onClose={close} />}
    </>
  )
}

function SendTest({ of: webhook }: { readonly of: WebhookObject }): ReactNode {
  const test = useTestWebhook(webhook.id)
  return (
    <Button
      leftSection={<IconSend size={16} />}
      loading={test.isPending}
      onClick={() =>
        test.mutate(undefined, {
          onSuccess({ delivered, response_status: status, error, duration_ms: ms }) {
            if (delivered) notify(`Test delivered: HTTP ${status} after ${duration(ms)}.`)
            else notifyError(new Error(`The test was not delivered: ${error}.`))
          },
          onError: notifyError,
        })
      }
    >
      Send test
    </Button>
  )
}

type DialogProps = { readonly of: WebhookObject; readonly onClose: () => void }

function RotateSecret({ of: webhook, onClose }: DialogProps): ReactNode {
  return (
    <RotateDialog
      title="Rotate secret"
      titleOfNew="Your new signing secret"
      errorTitle="The secret was not rotated"
      rotation={useRotateWebhookSecret(webhook.id)}
      onClose={onClose}
      show={({ secret }) => <NewWebhookSecret secret={secret} onDone={onClose} />}
    >
      Creates a new secret and shows it once. For 24 hours deliveries are signed with both, so that the receiver can
      switch over at any time.
    </RotateDialog>
  )
}

function DeleteWebhook({ of: webhook, onClose }: DialogProps): ReactNode {
  const remove = useDeleteWebhook(webhook.id)
  const [, goTo] = useLocation()
  return (
    <TypedConfirm
      title="Delete webhook"
      name={hostOf(webhook)}
      verb="Delete"
      isPending={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() =>
        remove.mutate(undefined, {
          onSuccess: () => {
            notify('Webhook deleted.')
            goTo('/webhooks')
          },
        })
      }
    >
      Waiting deliveries are not sent, and the list of deliveries is deleted.
    </TypedConfirm>
  )
}
