// The targets of a model in its form: who serves it, in which order, and what that costs the operator.
import { ActionIcon, Box, Button, Fieldset, Group, NumberInput, Select, Stack, Text, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { IconPlus, IconX } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import type { ModelObject } from '../../api/models.ts'
import { useProviders } from '../../api/providers.ts'
import { Costs } from './costs.tsx'
import { currencyOf, type ModelFields, NO_TARGET, STRATEGIES } from './model-form.ts'

type Props = { readonly form: UseFormReturnType<ModelFields>; readonly of: ModelObject | undefined }

export function TargetsFieldset({ form, of: model }: Props): ReactNode {
  const { data: providers = [] } = useProviders()
  return (
    <Fieldset legend="Targets" p="sm">
      <Stack gap="xs">
        <Group gap="xs" wrap="nowrap" visibleFrom="xs" fz="xs" c="dimmed" aria-hidden>
          <Box w={150}>Provider</Box>
          <Box flex={1}>Upstream model</Box>
          <Box w={76}>Priority</Box>
          <Box w={76}>Weight</Box>
          <Box w={28} />
        </Group>
        {form.values.targets.map((_, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other identity.
          <Group key={index} gap="xs" align="flex-start">
            <Select
              aria-label="Provider"
              placeholder="Provider"
              searchable
              w={150}
              data={providers.map(({ id }) => id)}
              {...form.getInputProps(`targets.${index}.provider`)}
            />
            <TextInput
              aria-label="Upstream model"
              placeholder="Upstream model"
              style={{ flex: 1 }}
              miw={110}
              {...form.getInputProps(`targets.${index}.model`)}
            />
            <NumberInput
              aria-label="Priority (lowest first)"
              title="Priority (lowest first)"
              w={76}
              min={0}
              allowDecimal={false}
              {...form.getInputProps(`targets.${index}.priority`)}
            />
            <NumberInput
              aria-label="Weight"
              title="Weight"
              w={76}
              min={0}
              allowDecimal={false}
              {...form.getInputProps(`targets.${index}.weight`)}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              mt={4}
              aria-label="Remove target"
              disabled={form.values.targets.length === 1}
              onClick={() => form.removeListItem('targets', index)}
            >
              <IconX size={16} />
            </ActionIcon>
            <Costs form={form} of={model} index={index} />
          </Group>
        ))}
        <Text size="xs" c="dimmed">
          Cost: what you pay the provider, in {currencyOf(model)} per million tokens. Needed for the margin; clients pay
          the prices above.
        </Text>
        <Group justify="space-between">
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconPlus size={14} />}
            onClick={() => form.insertListItem('targets', { ...NO_TARGET, priority: form.values.targets.length })}
          >
            Add target
          </Button>
          <Group gap="xs">
            <Text size="sm">Routing:</Text>
            <Select
              aria-label="Routing strategy"
              w={170}
              allowDeselect={false}
              data={Object.entries(STRATEGIES).map(([value, label]) => ({ value, label }))}
              {...form.getInputProps('strategy')}
            />
          </Group>
        </Group>
      </Stack>
    </Fieldset>
  )
}
