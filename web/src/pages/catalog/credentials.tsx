// The credentials of a provider: last four characters and state, with buttons to add and remove them.
import { Button, Fieldset, Group, PasswordInput, Stack, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { type ProviderObject, useAddCredential, useRemoveCredential } from '../../api/providers.ts'
import { useMayChange } from '../../api/session-context.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { notify } from '../../components/notify.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { Ago } from '../../components/timestamp.tsx'
import { credentialLabel } from './credential-label.ts'

export function Credentials({ of: provider }: { readonly of: ProviderObject }): ReactNode {
  const mayChange = useMayChange() && !provider.provisioned && provider.kind !== 'demo'
  const [secret, setSecret] = useState('')
  const add = useAddCredential(provider)
  const remove = useRemoveCredential(provider)
  const error = add.error ?? remove.error

  function submit(): void {
    if (secret.trim() === '' || add.isPending) return
    add.mutate(secret.trim(), {
      onSuccess: () => {
        setSecret('')
        notify('Credential added.')
      },
    })
  }

  return (
    <Fieldset legend="Credentials" p="sm">
      <Stack gap="xs">
        {provider.credentials.length === 0 && (
          <Text size="sm" c="dimmed">
            None. Requests are sent without an API key.
          </Text>
        )}
        {provider.credentials.map(({ id, last4, state, created_at }) => (
          <Group key={id} justify="space-between" gap="xs">
            <Group gap="xs">
              <span className="mono" title={id}>
                {credentialLabel({ id, last4 })}
              </span>
              <StateBadge state={state} />
              <Text size="xs" c="dimmed">
                {created_at === null ? (
                  'from the configuration file or environment'
                ) : (
                  <>
                    added <Ago at={created_at} />
                  </>
                )}
              </Text>
            </Group>
            {mayChange && (
              <Button
                size="compact-sm"
                variant="default"
                loading={remove.isPending && remove.variables === id}
                onClick={() => remove.mutate(id)}
              >
                Remove
              </Button>
            )}
          </Group>
        ))}
        {mayChange && (
          <form
            onSubmit={event => {
              event.preventDefault()
              submit()
            }}
          >
            <Group gap="xs" align="flex-end">
              <PasswordInput
                style={{ flex: 1 }}
                label="Add an API key"
                autoComplete="off"
                value={secret}
                onChange={event => setSecret(event.currentTarget.value)}
              />
              <Button type="submit" variant="default" loading={add.isPending} disabled={secret.trim() === ''}>
                Add
              </Button>
            </Group>
          </form>
        )}
        {error !== null && <ErrorAlert error={error} />}
      </Stack>
    </Fieldset>
  )
}
