// The dialog of a model: read-only if the configuration file owns it, otherwise editable; also creates new models.
import { Alert, Modal, Stack } from '@mantine/core'
import { IconLock } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { ApiError } from '../../api/call.ts'
import { type ModelObject, useCreateModel, useDeleteModel, useUpdateModel } from '../../api/models.ts'
import { useMayChange } from '../../api/session-context.ts'
import { ConflictAlert } from '../../components/conflict-alert.tsx'
import { notify } from '../../components/notify.tsx'
import { showAtField } from '../../components/show-at-field.ts'
import { TypedConfirm } from '../../components/typed-confirm.tsx'
import { EntryButtons } from './entry-buttons.tsx'
import { ModelFieldset } from './model-fieldset.tsx'
import { documentOf, useModelForm } from './model-form.ts'

export function ModelDialog({
  of: given,
  onClose,
}: {
  readonly of?: ModelObject
  readonly onClose: () => void
}): ReactNode {
  // The version that the form was filled from: a change by somebody else then shows as a conflict.
  const [model, setModel] = useState(given)
  const [reading, setReading] = useState(0)
  return (
    <Modal opened onClose={onClose} size="xl" title={model === undefined ? 'Add model' : model.id}>
      <Form
        key={reading}
        of={model}
        onClose={onClose}
        onReload={() => {
          setModel(given)
          setReading(reading + 1)
        }}
      />
    </Modal>
  )
}

type FormProps = { readonly of: ModelObject | undefined; readonly onClose: () => void; readonly onReload: () => void }

function Form({ of: model, onClose, onReload }: FormProps): ReactNode {
  const mayChange = useMayChange()
  const form = useModelForm(model)
  const create = useCreateModel()
  const update = useUpdateModel()
  const remove = useDeleteModel()
  const [problem, setProblem] = useState<unknown>()
  const [isRemoving, setRemoving] = useState(false)
  const isFiles = model?.provisioned === true
  const isReadOnly = isFiles || !mayChange

  const submit = form.onSubmit(fields => {
    if (create.isPending || update.isPending) return
    setProblem(undefined)
    const done = {
      onSuccess: () => {
        notify('Saved. The change is in effect.')
        onClose()
      },
      onError: (error: Error) => {
        const isConflict = error instanceof ApiError && error.status === 409
        if (isConflict || !showAtField(form, error)) setProblem(error)
      },
    }
    if (model === undefined) return create.mutate(documentOf(fields), done)
    const change = documentOf(fields, model)
    if (Object.keys(change).length === 0) return onClose()
    update.mutate({ of: model, change }, done)
  })

  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        {isFiles && (
          <Alert color="gray" icon={<IconLock size={17} />} py="xs" title="Read-only">
            Declared in the configuration file or created at first start. To change it, edit the file and run “turnpike
            apply”.
          </Alert>
        )}
        <ModelFieldset form={form} of={model} isReadOnly={isReadOnly} />
        {problem !== undefined && <ConflictAlert error={problem} noun="model" onReload={onReload} />}
        <EntryButtons
          isNew={model === undefined}
          isReadOnly={isReadOnly}
          isPending={create.isPending || update.isPending}
          onDelete={() => setRemoving(true)}
          onClose={onClose}
        />
      </Stack>
      {isRemoving && model !== undefined && (
        <TypedConfirm
          title="Delete model"
          name={model.id}
          verb="Delete"
          isPending={remove.isPending}
          error={remove.error}
          onClose={() => setRemoving(false)}
          onConfirm={() =>
            remove.mutate(model, {
              onSuccess: () => {
                notify('Model deleted. Its usage rows and price history are kept.')
                onClose()
              },
            })
          }
        >
          Requests for this model will get 404.
        </TypedConfirm>
      )}
    </form>
  )
}
