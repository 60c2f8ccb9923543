// The dialog that changes a webhook.
import { Button, Group, Modal, Stack } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useUpdateWebhook, type WebhookObject } from '../../api/webhooks.ts'
import { ConflictAlert } from '../../components/conflict-alert.tsx'
import { notify } from '../../components/notify.tsx'
import { inputOf, useWebhookFields, WebhookFieldset } from './webhook-form.tsx'

type Props = { readonly of: WebhookObject; readonly onClose: () => void }

export function EditWebhook({ of: latest, onClose }: Props): ReactNode {
  // The version that the form was filled from: later changes by others must not count as this operator's.
  const [webhook, setWebhook] = useState(latest)
  return (
    <Modal opened onClose={onClose} title="Edit webhook" size="lg">
      <Form key={webhook.version} of={webhook} onClose={onClose} onReload={() => setWebhook(latest)} />
    </Modal>
  )
}

function Form({ of: webhook, onClose, onReload }: Props & { readonly onReload: () => void }): ReactNode {
  const [fields, setFields] = useWebhookFields(webhook)
  const update = useUpdateWebhook(webhook)
  const isReady = fields.url.trim() !== '' && fields.types.length > 0
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        if (!isReady || update.isPending) return
        update.mutate(changedOnly(inputOf(fields), webhook), {
          onSuccess: () => {
            notify('Webhook updated.')
            onClose()
          },
        })
      }}
    >
      <Stack gap="sm">
        <WebhookFieldset fields={fields} onChange={setFields} />
        {update.error !== null && <ConflictAlert error={update.error} noun="webhook" onReload={onReload} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={update.isPending} disabled={!isReady}>
            Save
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

// A URL that is sent again would start its retries from the beginning.
function changedOnly<T extends object>(change: T, before: WebhookObject): Partial<T> {
  const was: Readonly<Record<string, unknown>> = before
  const changed = Object.entries(change).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(was[name]))
  return Object.fromEntries(changed) as Partial<T>
}
