// The cost of a target in the model form, and its tiers. A cost above the price is flagged.
import { ActionIcon, Button, Group, NumberInput, Stack, Text, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { IconPlus, IconX } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { PRICE_TIERS_MAX } from '../../../../src/domain/catalog.ts'
import type { ModelObject } from '../../api/models.ts'
import { lossesOf } from './losses.ts'
import { currencyOf, type ModelFields } from './model-form.ts'

type Props = {
  readonly form: UseFormReturnType<ModelFields>
  readonly of: ModelObject | undefined
  readonly index: number
}

export function Costs({ form, of: model, index }: Props): ReactNode {
  const isFixed = currencyOf(model) === 'credits'
  const target = form.values.targets[index]
  const path = `targets.${index}`
  const tiers = target?.costTiers ?? []
  const isChat = form.values.type === 'chat'
  const known = model?.targets.find(each => each.provider === target?.provider && each.model === target.model.trim())
  const losses = model === undefined || known === undefined ? [] : lossesOf({ ...model, targets: [known] })
  const cost = (name: string, label: string) => (
    <TextInput
      size="xs"
      label={`Cost, ${label}`}
      placeholder="unknown"
      inputMode="decimal"
      w={150}
      disabled={isFixed}
      {...form.getInputProps(`${path}.${name}`)}
    />
  )
  return (
    <Stack gap={6} w="100%">
      <Group gap="xs" align="flex-start">
        {cost('promptCost', 'prompt')}
        {isChat && cost('completionCost', 'completion')}
        {isChat && !isFixed && target?.promptCost.trim() !== '' && tiers.length < PRICE_TIERS_MAX && (
          <Button
            size="compact-xs"
            variant="subtle"
            mt={26}
            leftSection={<IconPlus size={12} />}
            onClick={() =>
              form.insertListItem(`${path}.costTiers`, { above_prompt_tokens: '', prompt: '', completion: '' })
            }
          >
            Add cost tier
          </Button>
        )}
      </Group>
      {tiers.map((_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: tiers have no other identity.
        <Group key={at} gap="xs" align="flex-start" pl="md">
          <NumberInput
            size="xs"
            label="Prompt tokens above"
            aria-label="Cost tier, prompt tokens above"
            w={150}
            min={1}
            allowDecimal={false}
            thousandSeparator
            disabled={isFixed}
            {...form.getInputProps(`${path}.costTiers.${at}.above_prompt_tokens`)}
          />
          {cost(`costTiers.${at}.prompt`, 'prompt in tier')}
          {cost(`costTiers.${at}.completion`, 'completion in tier')}
          <ActionIcon
            variant="subtle"
            color="gray"
            mt={24}
            aria-label="Remove cost tier"
            disabled={isFixed}
            onClick={() => form.removeListItem(`${path}.costTiers`, at)}
          >
            <IconX size={14} />
          </ActionIcon>
        </Group>
      ))}
      {losses.map(loss => (
        <Text key={loss} size="xs" c="red">
          Sold at a loss. {loss}
        </Text>
      ))}
    </Stack>
  )
}
