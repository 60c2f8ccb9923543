// The fields of a model.
import {
  ActionIcon,
  Box,
  Button,
  Fieldset,
  Group,
  MultiSelect,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  TagsInput,
  Text,
  TextInput,
} from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { IconPlus, IconX } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { MODALITIES } from '../../../../src/domain/catalog.ts'
import type { ModelObject } from '../../api/models.ts'
import { useProviders } from '../../api/providers.ts'
import { shiftDecimal } from '../../format/decimals.ts'
import { currencyOf, type ModelFields, RATES, STRATEGIES } from './model-form.ts'

type Props = {
  readonly form: UseFormReturnType<ModelFields>
  readonly of: ModelObject | undefined
  readonly isReadOnly: boolean
}

export function ModelFieldset({ form, of: model, isReadOnly }: Props): ReactNode {
  const isNew = model === undefined
  return (
    <Fieldset disabled={isReadOnly} variant="unstyled">
      <Stack gap="sm">
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
          {isNew && (
            <TextInput
              label="Id"
              description="What callers write as model"
              required
              data-autofocus
              {...form.getInputProps('id')}
            />
          )}
          <TextInput label="Name" description="For people" {...form.getInputProps('name')} />
          <TagsInput label="Aliases" description="Other ids that mean this model" {...form.getInputProps('aliases')} />
          <NumberInput
            label="Context"
            description="Tokens"
            required
            min={1}
            allowDecimal={false}
            thousandSeparator
            {...form.getInputProps('context_length')}
          />
          <NumberInput
            label="Longest answer"
            description="Tokens"
            required
            min={1}
            allowDecimal={false}
            thousandSeparator
            {...form.getInputProps('max_output_tokens')}
          />
        </SimpleGrid>
        <TextInput label="Description" {...form.getInputProps('description')} />
        <Prices form={form} of={model} />
        <Targets form={form} />
        <Abilities form={form} />
        <Switch
          label="Active"
          description="Only active models are listed and served."
          {...form.getInputProps('isActive', { type: 'checkbox' })}
        />
      </Stack>
    </Fieldset>
  )
}

function Prices({ form, of: model }: Pick<Props, 'form' | 'of'>): ReactNode {
  const currency = currencyOf(model)
  const isFixed = currency === 'credits'
  return (
    <Fieldset legend={`Prices, ${currency} per million tokens`} p="sm">
      <SimpleGrid cols={{ base: 2, sm: 5 }} spacing="sm">
        {Object.entries(RATES).map(([name, label]) => (
          <TextInput
            key={name}
            label={label}
            inputMode="decimal"
            placeholder={name.startsWith('input') ? 'as the prompt' : ''}
            disabled={isFixed}
            {...form.getInputProps(`rates.${name}`)}
          />
        ))}
        <TextInput
          label="Each request"
          inputMode="decimal"
          placeholder="0"
          disabled={isFixed}
          {...form.getInputProps('request')}
        />
      </SimpleGrid>
      <Text size="xs" c="dimmed" mt={6}>
        {isFixed
          ? 'Callers pay this, after the markup and the exchange rate of the configuration file.'
          : 'The markup and the exchange rate of the configuration file make credits of them when they are saved.'}
      </Text>
      {!isFixed && model !== undefined && (
        <Text size="xs" c="dimmed">
          Callers pay, in credits per million tokens: {paidBy(model)}.
        </Text>
      )}
    </Fieldset>
  )
}

function paidBy({ pricing }: ModelObject): string {
  const rates = Object.entries(RATES).map(([name, label]) => {
    return `${label.toLowerCase()} ${shiftDecimal(pricing[name as keyof typeof RATES], 6)}`
  })
  return rates.join(', ')
}

// What a picture may cost must be known before one is accepted, so the two go together.
function Abilities({ form }: Pick<Props, 'form'>): ReactNode {
  return (
    <Fieldset legend="What it can do" p="sm">
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        <MultiSelect
          label="Takes beside text"
          description="As parts of a message"
          data={MODALITIES.filter(modality => modality !== 'text')}
          {...form.getInputProps('input_modalities')}
        />
        <NumberInput
          label="Tokens of one picture or file"
          description="At most; held for each before it is sent"
          min={1}
          allowDecimal={false}
          thousandSeparator
          disabled={form.values.input_modalities.length === 0}
          {...form.getInputProps('media_max_tokens')}
        />
        <TagsInput
          label="Parameters"
          description="As listed to callers, such as tools"
          {...form.getInputProps('supported_parameters')}
        />
        <Switch
          label="Thinks unseen"
          description="It bills reasoning that it does not show."
          mt="lg"
          {...form.getInputProps('hasHiddenReasoning', { type: 'checkbox' })}
        />
      </SimpleGrid>
    </Fieldset>
  )
}

function Targets({ form }: Pick<Props, 'form'>): ReactNode {
  const { data: providers = [] } = useProviders()
  return (
    <Fieldset legend="Served by" p="sm">
      <Stack gap="xs">
        <Group gap="xs" wrap="nowrap" visibleFrom="xs" fz="xs" c="dimmed" aria-hidden>
          <Box w={150}>Provider</Box>
          <Box flex={1}>Its name for the model</Box>
          <Box w={76}>Priority</Box>
          <Box w={76}>Weight</Box>
          <Box w={28} />
        </Group>
        {form.values.targets.map((_, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a row has nothing but its place.
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
              aria-label="Its name for the model"
              placeholder="Its name for the model"
              style={{ flex: 1 }}
              miw={110}
              {...form.getInputProps(`targets.${index}.model`)}
            />
            <NumberInput
              aria-label="Priority, lower first"
              title="Priority, lower first"
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
              aria-label="Take this target away"
              disabled={form.values.targets.length === 1}
              onClick={() => form.removeListItem('targets', index)}
            >
              <IconX size={16} />
            </ActionIcon>
          </Group>
        ))}
        <Group justify="space-between">
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconPlus size={14} />}
            onClick={() =>
              form.insertListItem('targets', {
                provider: '',
                model: '',
                priority: form.values.targets.length,
                weight: 1,
              })
            }
          >
            Another target
          </Button>
          <Group gap="xs">
            <Text size="sm">Order:</Text>
            <Select
              aria-label="Order of targets"
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
