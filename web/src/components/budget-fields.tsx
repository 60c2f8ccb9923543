// The budgets of a key or account in a form: a row each, with the amount, the window and what happens at the limit.
import { ActionIcon, Button, Group, Input, Select, Stack, TextInput } from '@mantine/core'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import type { BudgetInput } from '../../../src/admin/budgets.ts'
import {
  BUDGET_WINDOWS,
  BUDGETS_MAX,
  type BudgetAction,
  type BudgetObject,
  type BudgetWindow,
} from '../../../src/domain/budget.ts'
import { readDecimal } from '../format/decimals.ts'

export type BudgetField = {
  readonly id: number
  readonly amount: string
  readonly window: BudgetWindow
  readonly action: BudgetAction
  // Kept as they are; the command line and the API can change them.
  readonly thresholds?: readonly number[]
}

const ACTIONS: readonly { readonly value: BudgetAction; readonly label: string }[] = [
  { value: 'block', label: 'Block' },
  { value: 'alert', label: 'Alert' },
]

let lastId = 0
const nextId = () => {
  lastId += 1
  return lastId
}

export function budgetFieldsOf(budgets: readonly BudgetObject[]): BudgetField[] {
  return budgets.map(({ amount, window, action, thresholds }) => ({ id: nextId(), amount, window, action, thresholds }))
}

export function budgetInputsOf(fields: readonly BudgetField[]): readonly BudgetInput[] {
  return fields.map(({ id: _, amount, ...rest }) => ({ ...rest, amount: amount.trim() }))
}

export function budgetError(fields: readonly BudgetField[]): string | null {
  return fields.every(({ amount }) => isPositive(amount)) ? null : 'Enter an amount above zero, such as 25 or 0.5'
}

type Props = {
  readonly value: readonly BudgetField[]
  readonly onChange: (fields: BudgetField[]) => void
  readonly error?: ReactNode
}

export function BudgetFields({ value, onChange, error }: Props): ReactNode {
  const change = (id: number, next: Partial<BudgetField>) =>
    onChange(value.map(field => (field.id === id ? { ...field, ...next } : field)))
  return (
    <Input.Wrapper
      label="Budgets"
      description="Credits per calendar window (UTC). At the limit: block requests, or only raise an event."
      error={error}
    >
      <Stack gap="xs" mt={6}>
        {value.map(({ id, amount, window, action }, i) => (
          <Group key={id} gap="xs" wrap="nowrap" align="flex-start">
            <TextInput
              aria-label={`Amount of budget ${i + 1}`}
              placeholder="credits"
              inputMode="decimal"
              flex={1}
              miw={60}
              value={amount}
              onChange={event => change(id, { amount: event.currentTarget.value })}
            />
            <Select
              aria-label={`Window of budget ${i + 1}`}
              data={BUDGET_WINDOWS}
              value={window}
              flex={1}
              miw={96}
              allowDeselect={false}
              onChange={next => change(id, { window: next as BudgetWindow })}
            />
            <Select
              aria-label={`Action of budget ${i + 1}`}
              data={ACTIONS}
              value={action}
              flex={1}
              miw={82}
              allowDeselect={false}
              onChange={next => change(id, { action: next as BudgetAction })}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              size="lg"
              aria-label={`Remove budget ${i + 1}`}
              onClick={() => onChange(value.filter(field => field.id !== id))}
            >
              <IconTrash size={16} />
            </ActionIcon>
          </Group>
        ))}
        {value.length < BUDGETS_MAX && (
          <Button
            variant="default"
            size="xs"
            leftSection={<IconPlus size={14} />}
            style={{ alignSelf: 'flex-start' }}
            onClick={() => onChange([...value, { id: nextId(), amount: '', window: 'month', action: 'block' }])}
          >
            Add budget
          </Button>
        )}
      </Stack>
    </Input.Wrapper>
  )
}

function isPositive(text: string): boolean {
  const decimal = readDecimal(text.trim())
  return decimal?.sign === '' && /[1-9]/.test(text)
}
