// Changes the prices of many models by a percentage: a preview first, then exactly that.
import { Button, Group, Modal, MultiSelect, Stack, Table, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { type ModelObject, type RepriceObject, useReprice } from '../../api/models.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { notify } from '../../components/notify.tsx'
import { TableFrame } from '../../components/table-frame.tsx'
import { unit } from '../../format/currency.ts'
import { count } from '../../format/numbers.ts'
import { BeforeAfter } from './before-after.tsx'

type Props = { readonly models: readonly ModelObject[]; readonly onClose: () => void }

const PERCENT = /^[+-]?\d{1,4}(\.\d{1,2})?$/

export function ChangePrices({ models, onClose }: Props): ReactNode {
  const own = models.filter(({ provisioned }) => !provisioned)
  const [percent, setPercent] = useState('')
  const [ids, setIds] = useState<string[]>([])
  const preview = useReprice()
  const save = useReprice()
  const isValid = PERCENT.test(percent.trim())
  const shown = preview.data

  function change(apply: () => void): void {
    preview.reset()
    save.reset()
    apply()
  }

  function show(): void {
    const chosen = ids.length === 0 ? {} : { models: ids.map(id => ({ id })) }
    preview.mutate({ percent: percent.trim(), ...chosen, dry_run: true })
  }

  // With the versions of the preview, so that what somebody else has changed meanwhile is not overwritten.
  function apply(of: RepriceObject): void {
    const changed = changesOf(of).map(({ model, version }) => ({ id: model, version }))
    save.mutate(
      { percent: of.percent, models: changed },
      {
        onSuccess: () => {
          notify(`The prices of ${changed.length} models were changed.`)
          onClose()
        },
      },
    )
  }

  return (
    <Modal opened onClose={onClose} size="lg" title="Change prices">
      <form
        onSubmit={event => {
          event.preventDefault()
          if (isValid && !preview.isPending) show()
        }}
      >
        <Stack gap="sm">
          <Group gap="sm" align="flex-start">
            <TextInput
              label="Change in percent"
              placeholder="10 or -2.5"
              inputMode="text"
              w={150}
              value={percent}
              error={percent.trim() === '' || isValid ? undefined : 'Such as 10 or -2.5'}
              onChange={({ currentTarget: { value } }) => change(() => setPercent(value))}
            />
            <MultiSelect
              label="Models"
              placeholder={ids.length === 0 ? `all ${own.length} that are not in the configuration file` : ''}
              style={{ flex: 1 }}
              miw={200}
              searchable
              clearable
              data={own.map(({ id }) => id)}
              value={ids}
              onChange={next => change(() => setIds(next))}
            />
          </Group>
          <Text size="xs" c="dimmed">
            Scales all prices of a model, with tiers and the price per request, before and after markup alike. Results
            are rounded up to a millionth of a credit per million tokens. The costs of targets stay.
          </Text>
          {preview.error !== null && <ErrorAlert error={preview.error} />}
          {shown !== undefined && <Preview of={shown} />}
          {save.error !== null && <ErrorAlert error={save.error} title="Nothing was changed" />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button
              type="submit"
              variant={shown === undefined ? 'filled' : 'default'}
              loading={preview.isPending}
              disabled={!isValid}
            >
              Preview
            </Button>
            {shown !== undefined && changesOf(shown).length > 0 && (
              <Button loading={save.isPending} onClick={() => apply(shown)}>
                Change {count(changesOf(shown).length)} {changesOf(shown).length === 1 ? 'model' : 'models'}
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

const COLUMNS = [
  { name: 'Model' },
  { name: 'Prompt / M', isRight: true },
  { name: 'Completion / M', isRight: true },
  { name: 'Notes', card: 'unnamed' },
] as const

function Preview({ of }: { readonly of: RepriceObject }): ReactNode {
  if (of.data.length === 0) return <Text size="sm">There are no models to change.</Text>
  return (
    <div style={{ maxHeight: 340, overflow: 'auto' }} className="panel">
      <TableFrame label={`Prices that clients pay, in ${unit()}`} columns={COLUMNS}>
        {of.data.map(({ model, change, before, after, notes }) => (
          <Table.Tr key={model}>
            <Table.Td className="break">{model}</Table.Td>
            <Table.Td className="right">
              <BeforeAfter before={before.prompt} after={after.prompt} />
            </Table.Td>
            <Table.Td className="right">
              <BeforeAfter before={before.completion} after={after.completion} />
            </Table.Td>
            <Table.Td>
              <Text size="xs" c="dimmed">
                {[...(change === 'same' ? ['unchanged'] : []), ...notes].join('; ')}
              </Text>
            </Table.Td>
          </Table.Tr>
        ))}
      </TableFrame>
    </div>
  )
}

function changesOf({ data }: RepriceObject) {
  return data.filter(({ change }) => change === 'changed')
}
