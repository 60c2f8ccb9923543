// The prices of a model in its form: for each kind of token, per request, and tiers for longer prompts.
import { ActionIcon, Button, Fieldset, Group, NumberInput, SimpleGrid, Text, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { IconPlus, IconX } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { PRICE_TIERS_MAX } from '../../../../src/domain/catalog.ts'
import type { ModelObject } from '../../api/models.ts'
import { shiftDecimal } from '../../format/decimals.ts'
import { count } from '../../format/numbers.ts'
import { currencyOf, type ModelFields } from './model-form.ts'
import { NO_RATES, RATES, type Rate } from './price-fields.ts'

type Props = { readonly form: UseFormReturnType<ModelFields>; readonly of: ModelObject | undefined }

export function PricesFieldset({ form, of: model }: Props): ReactNode {
  const currency = currencyOf(model)
  const isFixed = currency === 'credits'
  return (
    <Fieldset legend={`Prices, ${currency} per million tokens`} p="sm">
      <SimpleGrid cols={{ base: 2, sm: 3 }} spacing="sm">
        <RateInputs form={form} path="rates" placeholders={PLACEHOLDERS} isFixed={isFixed} />
        <TextInput
          label={`Per request, ${currency}`}
          inputMode="decimal"
          placeholder="0"
          disabled={isFixed}
          {...form.getInputProps('request')}
        />
      </SimpleGrid>
      {form.values.type === 'chat' && <Tiers form={form} isFixed={isFixed} />}
      <Text size="xs" c="dimmed" mt={6}>
        {isFixed
          ? 'These are the prices that clients pay, including the markup and exchange rate of the configuration file.'
          : 'On save, the markup and exchange rate of the configuration file convert these prices to credits.'}
      </Text>
      {!isFixed && model !== undefined && (
        <Text size="xs" c="dimmed">
          Clients pay, in credits per million tokens: {clientPrices(model)}.
        </Text>
      )}
    </Fieldset>
  )
}

type TiersProps = Pick<Props, 'form'> & { readonly isFixed: boolean }

function Tiers({ form, isFixed }: TiersProps): ReactNode {
  const { tiers } = form.values
  return (
    <>
      {tiers.map((_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: tiers have no other identity.
        <Fieldset key={index} legend={`Tier ${index + 1}: all tokens of requests with a longer prompt`} p="sm" mt="sm">
          <Group gap="xs" align="flex-end" mb="xs">
            <NumberInput
              label="Prompt tokens above"
              min={1}
              allowDecimal={false}
              thousandSeparator
              disabled={isFixed}
              {...form.getInputProps(`tiers.${index}.above_prompt_tokens`)}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              mb={4}
              aria-label={`Remove tier ${index + 1}`}
              disabled={isFixed}
              onClick={() => form.removeListItem('tiers', index)}
            >
              <IconX size={16} />
            </ActionIcon>
          </Group>
          <SimpleGrid cols={{ base: 2, sm: 3 }} spacing="sm">
            <RateInputs form={form} path={`tiers.${index}.rates`} placeholders={TIER_PLACEHOLDERS} isFixed={isFixed} />
          </SimpleGrid>
        </Fieldset>
      ))}
      {!isFixed && tiers.length < PRICE_TIERS_MAX && (
        <Button
          size="compact-sm"
          variant="default"
          mt="sm"
          leftSection={<IconPlus size={14} />}
          onClick={() => form.insertListItem('tiers', { above_prompt_tokens: '', rates: { ...NO_RATES } })}
        >
          Add price tier
        </Button>
      )}
    </>
  )
}

type RateProps = TiersProps & { readonly path: string; readonly placeholders: Readonly<Record<string, string>> }

function RateInputs({ form, path, placeholders, isFixed }: RateProps): ReactNode {
  return ratesOf(form.values).map(([name, label]) => (
    <TextInput
      key={name}
      label={label}
      inputMode="decimal"
      placeholder={placeholders[name] ?? ''}
      disabled={isFixed}
      {...form.getInputProps(`${path}.${name}`)}
    />
  ))
}

const PLACEHOLDERS: Readonly<Record<string, string>> = {
  input_cache_read: 'as prompt',
  input_cache_write: 'as prompt',
  input_cache_write_1h: 'not offered',
  image: 'as prompt',
  audio: 'as prompt',
}
// The higher of the base price, where there is one, and the prompt price of the tier.
const TIER_PLACEHOLDERS: Readonly<Record<string, string>> = {
  input_cache_read: 'as prompt or base',
  input_cache_write: 'as prompt or base',
  input_cache_write_1h: 'as prompt or base',
  image: 'as prompt or base',
  audio: 'as prompt or base',
}

// A model that embeds has neither a completion nor media.
function ratesOf({ type }: Pick<ModelObject, 'type'>): [Rate, string][] {
  const all = Object.entries(RATES) as [Rate, string][]
  return type === 'chat' ? all : all.filter(([name]) => !['completion', 'image', 'audio'].includes(name))
}

function clientPrices({ pricing, type }: ModelObject): string {
  const { tiers = [], ...base } = pricing
  const longer = tiers.map(tier => `above ${count(tier.above_prompt_tokens)} prompt tokens: ${listed(tier, type)}`)
  return [listed(base, type), ...longer].join('; ')
}

function listed(rates: Partial<Record<Rate, string>>, type: ModelObject['type']): string {
  const priced = ratesOf({ type }).filter(([name]) => rates[name] !== undefined)
  return priced.map(([name, label]) => `${label.toLowerCase()} ${shiftDecimal(rates[name] ?? '', 6)}`).join(', ')
}
