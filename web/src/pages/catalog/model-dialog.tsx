// One model: to be read if the file owns it, else to be changed; or a new one.
import { Alert, Modal, Stack } from '@mantine/core'
import { IconLock } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { ApiError } from '../../api/call.ts'
import { type ModelObject, useCreateModel, useDeleteModel, useUpdateModel } from '../../api/models.ts'
import { useMayChange } from '../../api/session-context.ts'
import { ConflictAlert } from '../../components/conflict-alert.tsx'
import { notify } from '../../components/notify.tsx'
import { TypedConfirm } from '../../components/typed-confirm.tsx'
import { showAtField } from '../keys/key-form.tsx'
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
  // What the form was filled from; a change by somebody else in the meantime shows as a conflict and not as a surprise.
  const [model, setModel] = useState(given)
  const [reading, setReading] = useState(0)
  return (
    <Modal opened onClose={onClose} size="xl" title={model === undefined ? 'Add a model' : model.id}>
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
        notify('Saved, and in force.')
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
          <Alert color="gray" icon={<IconLock size={17} />} py="xs" title="Declared by the configuration file">
            It is read-only here. Change the file and run “turnpike apply”.
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
          title="Delete the model"
          name={model.id}
          verb="Delete"
          isPending={remove.isPending}
          error={remove.error}
          onClose={() => setRemoving(false)}
          onConfirm={() =>
            remove.mutate(model, {
              onSuccess: () => {
                notify('The model was deleted. Usage rows and the prices there were are kept.')
                onClose()
              },
            })
          }
        >
          Callers that ask for it get 404 from now on.
        </TypedConfirm>
      )}
    </form>
  )
}
