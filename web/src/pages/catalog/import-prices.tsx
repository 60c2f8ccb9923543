// The dialog that imports models and prices from the bundled price list: it shows the changes first and applies only those.
import { Alert, Button, Group, Modal, Stack, Switch, Table, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { type ImportObject, type ImportOrder, useImport } from '../../api/models.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { notify } from '../../components/notify.tsx'
import { TableFrame } from '../../components/table-frame.tsx'
import { count } from '../../format/numbers.ts'
import { BeforeAfter } from './before-after.tsx'
import { ImportFields, type Order } from './import-fields.tsx'

export function ImportPrices({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [order, setOrder] = useState<Order>({ list: '' })
  const [shown, setShown] = useState<{ readonly order: ImportOrder; readonly difference: ImportObject }>()
  const importPrices = useImport()
  const set = (name: string) => (value: string | null) => {
    setShown(undefined)
    setOrder({ ...order, [name]: value ?? '' })
  }

  function compare(): void {
    if (importPrices.isPending) return
    const request = orderOf(order)
    importPrices.mutate(
      { ...request, dry_run: true },
      { onSuccess: difference => setShown({ order: request, difference }) },
    )
  }

  function apply(): void {
    if (shown === undefined || importPrices.isPending) return
    importPrices.mutate(
      { ...shown.order, dry_run: false },
      {
        onSuccess: ({ data }) => {
          notify(
            `Imported: ${data.filter(({ change }) => change === 'new').length} new, ${data.filter(({ change }) => change === 'changed').length} changed.`,
          )
          onClose()
        },
      },
    )
  }

  return (
    <Modal opened onClose={onClose} size="xl" title="Import list prices">
      <form
        onSubmit={event => {
          event.preventDefault()
          compare()
        }}
      >
        <Stack gap="sm">
          <Text size="sm" c="dimmed">
            Uses the price list installed with the server; nothing is downloaded. You see the changes before they are
            saved.
          </Text>
          <ImportFields order={order} set={set} />
          {importPrices.error !== null && (
            <ErrorAlert error={importPrices.error} title="The price list could not be compared" />
          )}
          {shown !== undefined && <Changes of={shown.difference} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button
              type="submit"
              variant={shown === undefined ? 'filled' : 'default'}
              loading={importPrices.isPending && shown === undefined}
              disabled={(order.list ?? '') === ''}
            >
              Preview changes
            </Button>
            {shown !== undefined && changesOf(shown.difference).length > 0 && (
              <Button loading={importPrices.isPending} onClick={apply}>
                Apply {changesOf(shown.difference).length} changes
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
  { name: 'Change' },
  { name: 'Prompt / M', isRight: true },
  { name: 'Completion / M', isRight: true },
  { name: 'Prompt cost / M', isRight: true },
  { name: 'Notes' },
]

function Changes({ of }: { readonly of: ImportObject }): ReactNode {
  const [isAll, setAll] = useState(false)
  const rows = isAll ? of.data : changesOf(of)
  const rest = of.data.length - changesOf(of).length
  return (
    <Stack gap="xs">
      {changesOf(of).length === 0 && <Alert color="gray">No changes: {of.data.length} models were compared.</Alert>}
      {rest > 0 && (
        <Switch
          size="xs"
          checked={isAll}
          onChange={event => setAll(event.currentTarget.checked)}
          label={`Also show ${rest} unchanged or skipped`}
        />
      )}
      {rows.length > 0 && (
        <div style={{ maxHeight: 340, overflow: 'auto' }} className="panel">
          <TableFrame label="Changes" columns={COLUMNS}>
            {rows.map(({ model, change, before, after, cost_before, cost_after, notes }) => (
              <Table.Tr key={model}>
                <Table.Td className="break">{model}</Table.Td>
                <Table.Td fw={change === 'same' || change === 'skipped' ? 400 : 600}>{change}</Table.Td>
                <Table.Td className="right">
                  <BeforeAfter before={before?.prompt} after={after?.prompt} />
                </Table.Td>
                <Table.Td className="right">
                  <BeforeAfter before={before?.completion} after={after?.completion} />
                </Table.Td>
                <Table.Td className="right">
                  <BeforeAfter before={cost_before?.prompt} after={cost_after?.prompt} />
                </Table.Td>
                <Table.Td maw={260}>
                  <Text size="xs" c="dimmed">
                    {[...tierNotes(after), ...notes].join('; ')}
                  </Text>
                </Table.Td>
              </Table.Tr>
            ))}
          </TableFrame>
        </div>
      )}
    </Stack>
  )
}

function tierNotes(price: ImportObject['data'][number]['after']): readonly string[] {
  return (price?.tiers ?? []).map(tier => `more above ${count(tier.above_prompt_tokens)} prompt tokens`)
}

function changesOf({ data }: ImportObject) {
  return data.filter(({ change }) => change === 'new' || change === 'changed')
}

function orderOf(fields: Order): ImportOrder {
  const given = Object.entries(fields).filter(([, value]) => value.trim() !== '')
  return Object.fromEntries(given.map(([name, value]) => [name, value.trim()])) as unknown as ImportOrder
}
