// The dialog of a provider and its credentials: read-only if the configuration file owns it, otherwise editable.
import {
  Alert,
  Autocomplete,
  Fieldset,
  Modal,
  PasswordInput,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  TextInput,
} from '@mantine/core'
import { IconLock } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { ApiError } from '../../api/call.ts'
import { type ProviderObject, useCreateProvider, useDeleteProvider, useUpdateProvider } from '../../api/providers.ts'
import { useMayChange } from '../../api/session-context.ts'
import { ConflictAlert } from '../../components/conflict-alert.tsx'
import { notify } from '../../components/notify.tsx'
import { showAtField } from '../../components/show-at-field.ts'
import { TypedConfirm } from '../../components/typed-confirm.tsx'
import { Credentials } from './credentials.tsx'
import { EntryButtons } from './entry-buttons.tsx'
import { APIS, changeOf, documentOf, KINDS, PRESETS, SETTINGS, useProviderForm } from './provider-form.ts'

type Props = { readonly of?: ProviderObject; readonly onClose: () => void }

export function ProviderDialog({ of: given, onClose }: Props): ReactNode {
  const [provider, setProvider] = useState(given)
  const [reading, setReading] = useState(0)
  const reload = () => {
    setProvider(given)
    setReading(reading + 1)
  }
  return (
    <Modal opened onClose={onClose} size="lg" title={provider === undefined ? 'Add provider' : provider.id}>
      <Stack gap="md">
        <Form key={reading} of={provider} onClose={onClose} onReload={reload} />
        {given !== undefined && <Credentials of={given} />}
      </Stack>
    </Modal>
  )
}

type FormProps = {
  readonly of: ProviderObject | undefined
  readonly onClose: () => void
  readonly onReload: () => void
}

function Form({ of: provider, onClose, onReload }: FormProps): ReactNode {
  const mayChange = useMayChange()
  const create = useCreateProvider()
  const update = useUpdateProvider()
  const remove = useDeleteProvider()
  const [problem, setProblem] = useState<unknown>()
  const [isRemoving, setRemoving] = useState(false)
  const form = useProviderForm(provider)
  const isReadOnly = provider?.provisioned === true || !mayChange

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
    if (provider === undefined) return create.mutate(documentOf(fields), done)
    const change = changeOf(fields, provider)
    if (Object.keys(change).length === 0) return onClose()
    update.mutate({ of: provider, change }, done)
  })

  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        {provider?.provisioned === true && (
          <Alert color="gray" icon={<IconLock size={17} />} py="xs" title="Read-only">
            Declared in the configuration file or created at first start. To change it, edit the file and run “turnpike
            apply”.
          </Alert>
        )}
        <Fieldset disabled={isReadOnly} variant="unstyled">
          <Stack gap="sm">
            <ProviderFields form={form} isNew={provider === undefined} />
          </Stack>
        </Fieldset>
        {problem !== undefined && <ConflictAlert error={problem} noun="provider" onReload={onReload} />}
        <EntryButtons
          isNew={provider === undefined}
          isReadOnly={isReadOnly}
          isPending={create.isPending || update.isPending}
          onDelete={() => setRemoving(true)}
          onClose={onClose}
        />
      </Stack>
      {isRemoving && provider !== undefined && (
        <TypedConfirm
          title="Delete provider"
          name={provider.id}
          verb="Delete"
          isPending={remove.isPending}
          error={remove.error}
          onClose={() => setRemoving(false)}
          onConfirm={() =>
            remove.mutate(provider, {
              onSuccess: () => {
                notify('Provider and credentials deleted.')
                onClose()
              },
            })
          }
        >
          This also deletes its credentials. Models that only this provider serves must be deleted or changed first.
        </TypedConfirm>
      )}
    </form>
  )
}

type FieldsProps = { readonly form: ReturnType<typeof useProviderForm>; readonly isNew: boolean }

function ProviderFields({ form, isNew }: FieldsProps): ReactNode {
  const { kind } = form.values
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        {isNew && (
          <TextInput
            label="ID"
            description="Shown to clients as the provider"
            required
            data-autofocus
            {...form.getInputProps('id')}
          />
        )}
        <Select
          label="API type"
          description="The protocol of the provider’s API"
          allowDeselect={false}
          data={Object.entries(KINDS).map(([value, label]) => ({ value, label }))}
          {...form.getInputProps('kind')}
        />
        {kind === 'openai' && isNew && (
          <Autocomplete
            label="Preset"
            description="Base URL and quirks of a known vendor"
            placeholder="none"
            data={PRESETS}
            {...form.getInputProps('preset')}
          />
        )}
        {kind === 'openai' && (
          <Select
            label="API"
            description="Automatic uses Responses for requests that need it"
            placeholder="default of the preset or URL"
            clearable={isNew}
            allowDeselect={isNew}
            data={Object.entries(APIS).map(([value, label]) => ({ value, label }))}
            {...form.getInputProps('api')}
            value={form.values.api === '' ? null : form.values.api}
            onChange={api => form.setFieldValue('api', (api ?? '') as typeof form.values.api)}
          />
        )}
        {(SETTINGS[kind] ?? []).map(name => (
          <TextInput
            key={name}
            label={name.charAt(0).toUpperCase() + name.slice(1)}
            description={kind === 'anthropic' ? 'For Claude on Vertex only' : undefined}
            {...form.getInputProps(name)}
          />
        ))}
      </SimpleGrid>
      {kind !== 'demo' && (
        <TextInput
          label="Base URL"
          description={`Leave empty for the default of the preset or API type.${isNew ? '' : ' Changing it deletes the stored credentials.'}`}
          placeholder="https://api.example.com/v1"
          {...form.getInputProps('base_url')}
        />
      )}
      {isNew && kind !== 'demo' && (
        <PasswordInput
          label="API key"
          description="Stored encrypted and never shown again"
          autoComplete="off"
          {...form.getInputProps('api_key')}
        />
      )}
      <Switch
        label="Active"
        description="Requests are not sent to inactive providers."
        {...form.getInputProps('isActive', { type: 'checkbox' })}
      />
    </>
  )
}
