// The fields of the dialog that imports list prices.
import { Autocomplete, Select, SimpleGrid, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { useProviders } from '../../api/providers.ts'

const VENDORS = [
  'openai',
  'anthropic',
  'google',
  'groq',
  'mistral',
  'deepseek',
  'x-ai',
  'cohere',
  'together',
  'fireworks',
  'openrouter',
  'azure',
  'aws',
]

// What was entered, by the name of its field.
export type Order = Readonly<Record<string, string>>

type OrderProps = { readonly order: Order; readonly set: (name: string) => (value: string | null) => void }

export function ImportFields({ order, set }: OrderProps): ReactNode {
  const { data: providers = [] } = useProviders()
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, sm: 4 }} spacing="sm">
      <Autocomplete
        label="Vendor"
        description="Name in the price list"
        required
        data-autofocus
        data={VENDORS}
        value={order.list ?? ''}
        onChange={set('list')}
      />
      <Select
        label="Provider"
        description="Serves the models"
        placeholder="Same name"
        searchable
        clearable
        data={providers.map(({ id }) => id)}
        value={order.provider || null}
        onChange={set('provider')}
      />
      <TextInput
        label="Filter"
        description="Part of a name, or gpt-4*"
        value={order.match ?? ''}
        onChange={event => set('match')(event.currentTarget.value)}
      />
      <TextInput
        label="Markup"
        description="A factor such as 1.2"
        placeholder="from the file"
        value={order.markup ?? ''}
        onChange={event => set('markup')(event.currentTarget.value)}
      />
      <Select
        label="Provider costs"
        description="List prices as your costs"
        allowDeselect={false}
        data={[
          { value: 'fill', label: 'where none is stated' },
          { value: 'replace', label: 'replace all' },
          { value: 'keep', label: 'do not change' },
        ]}
        value={order.costs || 'fill'}
        onChange={set('costs')}
      />
    </SimpleGrid>
  )
}
