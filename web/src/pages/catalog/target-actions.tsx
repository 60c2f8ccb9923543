// Tests a target with a request of its own, and disables or enables it.
import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useModels } from '../../api/models.ts'
import {
  type ProviderObject,
  type TargetHealth,
  type TargetTest,
  useHealthByProvider,
  useSetTarget,
  useTestTarget,
} from '../../api/providers.ts'
import { useMayChange } from '../../api/session-context.ts'
import { DescriptionList } from '../../components/description-list.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { notify, notifyError } from '../../components/notify.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { attemptOutcome } from '../../components/usage/outcomes.ts'
import { isolated } from '../../format/isolated.ts'
import { duration } from '../../format/numbers.ts'
import { credentialLabel } from './credential-label.ts'

type Props = { readonly of: ProviderObject; readonly target: TargetHealth }

export function TargetActions({ of, target }: Props): ReactNode {
  const provider = of.id
  const mayChange = useMayChange()
  const [open, setOpen] = useState<'test' | 'disable'>()
  const test = useTestTarget(provider)
  const set = useSetTarget(provider)
  const isDisabled = target.status === 'disabled'
  const name = `${provider} ${isolated(target.model)}`
  const close = () => setOpen(undefined)
  if (!mayChange) return null

  function confirmDisable(): void {
    // An error of an earlier try is not one of this.
    set.reset()
    setOpen('disable')
  }

  function change(disabled: boolean): void {
    const done = disabled ? `${name} gets no more requests.` : `${name} gets requests again.`
    const onSuccess = () => {
      close()
      notify(done)
    }
    // The dialog shows its error itself.
    set.mutate({ model: target.model, disabled }, { onSuccess, ...(disabled ? {} : { onError: notifyError }) })
  }

  return (
    <Group gap={6} wrap="nowrap" justify="flex-end">
      <Button
        size="compact-xs"
        variant="default"
        aria-label={`Test ${name}`}
        onClick={() => {
          setOpen('test')
          test.mutate(target.model)
        }}
      >
        Test
      </Button>
      <Button
        size="compact-xs"
        variant="default"
        loading={isDisabled && set.isPending}
        aria-label={`${isDisabled ? 'Enable' : 'Disable'} ${name}`}
        onClick={() => (isDisabled ? change(false) : confirmDisable())}
      >
        {isDisabled ? 'Enable' : 'Disable'}
      </Button>
      <Modal opened={open === 'test'} onClose={close} title={`Test request to ${name}`}>
        {test.isPending && <Text size="sm">Waiting for the provider…</Text>}
        {test.error !== null && <ErrorAlert error={test.error} />}
        {test.data !== undefined && !test.isPending && <Result of={test.data} credentials={of.credentials} />}
      </Modal>
      <Modal opened={open === 'disable'} onClose={close} title={`Disable ${name}?`}>
        <Stack gap="sm">
          <Text size="sm">
            It gets no more requests, on all nodes, until it is enabled again. Applying the configuration file does not
            enable it. Running requests finish.
          </Text>
          <LastTargetOf provider={provider} model={target.model} />
          {set.error !== null && <ErrorAlert error={set.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button color="red" loading={set.isPending} onClick={() => change(true)}>
              Disable
            </Button>
          </Group>
        </Stack>
      </Modal>
    </Group>
  )
}

type ResultProps = { readonly of: TargetTest; readonly credentials: ProviderObject['credentials'] }

function Result({ of, credentials }: ResultProps): ReactNode {
  const { ok, status, outcome, duration_ms, message, credential_id } = of
  const used = credentials.find(({ id }) => id === credential_id)
  return (
    <DescriptionList
      of={[
        ['Result', <StateBadge key="result" state={ok ? 'ok' : 'failed'} word={attemptOutcome(outcome)} />],
        ['HTTP status', status ?? 'no response'],
        ['Duration', duration(duration_ms)],
        ['Credential', used === undefined ? (credential_id ?? 'none') : credentialLabel(used)],
        ...(message === '' ? [] : [['Message', message] as const]),
      ]}
    />
  )
}

// Models that nobody serves without it: other targets may be disabled, or of an inactive provider.
function LastTargetOf({ provider, model }: { readonly provider: string; readonly model: string }): ReactNode {
  const { data = [] } = useModels()
  const served = data.flatMap(({ id, status, targets }) => {
    const others = targets.filter(target => target.provider !== provider || target.model !== model)
    return status === 'active' && others.length < targets.length ? [{ id, others }] : []
  })
  const health = useHealthByProvider([...new Set(served.flatMap(({ others }) => others.map(each => each.provider)))])
  const isServed = (other: { readonly provider: string; readonly model: string }) =>
    health.get(other.provider)?.targets.some(each => each.model === other.model && each.status !== 'disabled') ?? true
  const left = served.filter(({ others }) => !others.some(isServed))
  if (left.length === 0) return null
  return (
    <Text size="sm" c="red" className="break">
      No other target serves {left.map(({ id }) => isolated(id)).join(', ')}: requests for{' '}
      {left.length === 1 ? 'it' : 'them'} get “model not found”.
    </Text>
  )
}
