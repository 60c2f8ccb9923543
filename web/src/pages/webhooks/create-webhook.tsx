// The dialog that creates a webhook and shows its secret once.
import { Button, Group, Modal, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { useLocation } from 'wouter'
import { useCreateWebhook } from '../../api/webhooks.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { NewWebhookSecret } from './new-webhook-secret.tsx'
import { inputOf, useWebhookFields, WebhookFieldset } from './webhook-form.tsx'

export function CreateWebhook({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [fields, setFields] = useWebhookFields(undefined)
  const create = useCreateWebhook()
  const [, goTo] = useLocation()
  const { data: made } = create
  const isReady = fields.url.trim() !== '' && fields.types.length > 0
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={made === undefined ? 'Create webhook' : 'Your signing secret'}
      closeOnClickOutside={made === undefined}
      closeOnEscape={made === undefined}
    >
      {made !== undefined ? (
        <NewWebhookSecret secret={made.secret} onDone={() => goTo(`/webhooks/${made.id}`)} />
      ) : (
        <form
          onSubmit={event => {
            event.preventDefault()
            if (isReady && !create.isPending) create.mutate(inputOf(fields))
          }}
        >
          <Stack gap="sm">
            <WebhookFieldset fields={fields} onChange={setFields} />
            {create.error !== null && <ErrorAlert error={create.error} title="The webhook was not created" />}
            <Group justify="flex-end">
              <Button variant="default" onClick={onClose}>
                Cancel
              </Button>
              <Button type="submit" loading={create.isPending} disabled={!isReady}>
                Create
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  )
}
