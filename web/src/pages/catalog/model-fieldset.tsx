// The form fields of a model.
import {
  Fieldset,
  MultiSelect,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  TagsInput,
  TextInput,
} from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import type { ReactNode } from 'react'
import { MODALITIES, MODEL_TYPES } from '../../../../src/domain/catalog.ts'
import type { ModelObject } from '../../api/models.ts'
import type { ModelFields } from './model-form.ts'
import { PricesFieldset } from './prices-fieldset.tsx'
import { TargetsFieldset } from './targets-fieldset.tsx'

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
              label="ID"
              description="The value of “model” in requests"
              required
              data-autofocus
              {...form.getInputProps('id')}
            />
          )}
          <TextInput label="Name" description="Display name" {...form.getInputProps('name')} />
          <TagsInput
            label="Aliases"
            description="Other IDs for this model; * matches any characters"
            {...form.getInputProps('aliases')}
          />
          <NumberInput
            label="Context length"
            description="Tokens"
            required
            min={1}
            allowDecimal={false}
            thousandSeparator
            {...form.getInputProps('context_length')}
          />
          {isNew && (
            <Select
              label="Type"
              description="Chat, or vectors of texts"
              allowDeselect={false}
              data={[...MODEL_TYPES]}
              {...form.getInputProps('type')}
            />
          )}
          {form.values.type === 'chat' ? <OutputSize form={form} /> : <VectorSize form={form} />}
        </SimpleGrid>
        <TextInput label="Description" {...form.getInputProps('description')} />
        <PricesFieldset form={form} of={model} />
        <TargetsFieldset form={form} of={model} />
        <Capabilities form={form} />
        <Switch
          label="Active"
          description="Only active models are listed and served."
          {...form.getInputProps('isActive', { type: 'checkbox' })}
        />
      </Stack>
    </Fieldset>
  )
}

function OutputSize({ form }: Pick<Props, 'form'>): ReactNode {
  return (
    <NumberInput
      label="Max output tokens"
      description="Per response"
      required
      min={1}
      allowDecimal={false}
      thousandSeparator
      {...form.getInputProps('max_output_tokens')}
    />
  )
}

function VectorSize({ form }: Pick<Props, 'form'>): ReactNode {
  return (
    <>
      <NumberInput
        label="Dimensions"
        description="Size of the vectors"
        required
        min={1}
        allowDecimal={false}
        {...form.getInputProps('dimensions')}
      />
      <NumberInput
        label="Min dimensions"
        description="Smallest size that clients may request"
        placeholder="fixed"
        min={1}
        allowDecimal={false}
        {...form.getInputProps('dimensions_min')}
      />
    </>
  )
}

// Images and files need a token bound, from which the hold is computed, so the two fields belong together.
function Capabilities({ form }: Pick<Props, 'form'>): ReactNode {
  return (
    <Fieldset legend="Capabilities" p="sm">
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        <MultiSelect
          label="Input modalities"
          description="In addition to text"
          data={MODALITIES.filter(modality => modality !== 'text')}
          {...form.getInputProps('input_modalities')}
        />
        <NumberInput
          label="Max tokens per image or file"
          description="Used to compute the hold"
          min={1}
          allowDecimal={false}
          thousandSeparator
          disabled={form.values.input_modalities.length === 0}
          {...form.getInputProps('media_max_tokens')}
        />
        <TagsInput
          label="Supported parameters"
          description="As listed by /v1/models, such as tools"
          {...form.getInputProps('supported_parameters')}
        />
        <Switch
          label="Hidden reasoning"
          description="Bills reasoning tokens that are not in the response."
          mt="lg"
          {...form.getInputProps('hasHiddenReasoning', { type: 'checkbox' })}
        />
      </SimpleGrid>
    </Fieldset>
  )
}
