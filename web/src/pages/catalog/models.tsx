// The list of models: prices, status, and the targets that serve each model with their health.
import { Button, Group, Table, Text, Tooltip, UnstyledButton } from '@mantine/core'
import { IconCpu, IconDownload, IconPercentage, IconPlus } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { type ModelObject, useModels } from '../../api/models.ts'
import { type HealthByProvider, useHealthByProvider } from '../../api/providers.ts'
import { useMayChange } from '../../api/session-context.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { OwnerBadge } from '../../components/owner-badge.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { RowCount } from '../../components/row-count.tsx'
import { SearchInput } from '../../components/search-input.tsx'
import { useParams } from '../../components/search-params.ts'
import { sortable, sortedBy, useSort } from '../../components/sorting.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { TableFrame } from '../../components/table-frame.tsx'
import { unit } from '../../format/currency.ts'
import { chartHeight } from '../../format/decimals.ts'
import { shortCount } from '../../format/numbers.ts'
import { ChangePrices } from './change-prices.tsx'
import { ImportPrices } from './import-prices.tsx'
import { LossBadge } from './loss.tsx'
import { ModelDialog } from './model-dialog.tsx'
import { PerMillion } from './per-million.tsx'
import { Targets } from './targets.tsx'

const COLUMNS = [
  { name: 'Model' },
  { name: 'Status', card: 'value' },
  { name: 'Prompt / M', isRight: true },
  { name: 'Cached / M', isRight: true },
  { name: 'Completion / M', isRight: true },
  { name: 'Context', isRight: true },
  { name: 'Targets', card: 'unnamed' },
] as const

const COMPARED = {
  model: (model: ModelObject) => model.id,
  status: (model: ModelObject) => model.status,
  'prompt / m': (model: ModelObject) => chartHeight(model.pricing.prompt),
  'cached / m': (model: ModelObject) => chartHeight(model.pricing.input_cache_read),
  'completion / m': (model: ModelObject) => chartHeight(model.pricing.completion),
  context: (model: ModelObject) => model.context_length,
}

type Open =
  | { readonly is: 'new' }
  | { readonly is: 'import' }
  | { readonly is: 'prices' }
  | { readonly is: 'model'; readonly id: string }

const READ_ONLY = 'All models are read-only here. Change their prices in the configuration file.'

export default function Models(): ReactNode {
  const mayChange = useMayChange()
  const [params, setParams] = useParams()
  const [open, setOpen] = useState<Open>()
  const { data, error, isSuccess, refetch } = useModels()
  const q = (params.get('q') ?? '').toLowerCase()
  const all = data ?? []
  const sorting = useSort('model', false)
  const matching = all.filter(({ id, name, aliases }) =>
    [id, name, ...aliases].some(text => text.toLowerCase().includes(q)),
  )
  const rows = sortedBy(matching, sorting.sort, COMPARED)
  const healthByProvider = useHealthByProvider([
    ...new Set(all.flatMap(({ targets }) => targets.map(({ provider }) => provider))),
  ])
  const isReadOnly = all.every(({ provisioned }) => provisioned)
  const close = () => setOpen(undefined)
  const add = mayChange && (
    <>
      <Button variant="default" leftSection={<IconDownload size={16} />} onClick={() => setOpen({ is: 'import' })}>
        Import list prices
      </Button>
      <Tooltip label={READ_ONLY} disabled={!isReadOnly}>
        <Button
          variant="default"
          leftSection={<IconPercentage size={16} />}
          data-disabled={isReadOnly || undefined}
          aria-disabled={isReadOnly}
          onClick={() => isReadOnly || setOpen({ is: 'prices' })}
        >
          Change prices
        </Button>
      </Tooltip>
      <Button leftSection={<IconPlus size={16} />} onClick={() => setOpen({ is: 'new' })}>
        Add model
      </Button>
    </>
  )
  const shown = open?.is === 'model' ? all.find(({ id }) => id === open.id) : undefined

  return (
    <Page
      title="Models"
      about={`Models that clients can use. Prices are in ${unit()} per million tokens.`}
      actions={add}
    >
      <SearchInput value={params.get('q') ?? ''} onSearch={text => setParams({ q: text })} label="Name, ID or alias" />
      {error !== null && <ErrorAlert error={error} onRetry={() => void refetch()} />}
      <Panel flush>
        {rows.length > 0 && (
          <TableFrame label="Models" columns={sortable(COLUMNS, COMPARED, sorting)}>
            {rows.map(model => (
              <Row
                key={model.id}
                of={model}
                healthByProvider={healthByProvider}
                onOpen={() => setOpen({ is: 'model', id: model.id })}
              />
            ))}
          </TableFrame>
        )}
        <RowCount rows={rows.length} noun="model" />
        {isSuccess && rows.length === 0 && (
          <EmptyState icon={IconCpu} title={all.length === 0 ? 'No models yet' : 'No matching models'}>
            {all.length === 0
              ? 'Add a provider, then import list prices or add a model.'
              : 'Search by part of the name, ID or alias.'}
          </EmptyState>
        )}
      </Panel>
      {open?.is === 'import' && <ImportPrices onClose={close} />}
      {open?.is === 'prices' && <ChangePrices models={all} onClose={close} />}
      {open?.is === 'new' && <ModelDialog onClose={close} />}
      {shown !== undefined && <ModelDialog of={shown} onClose={close} />}
    </Page>
  )
}

// The price of the longest prompts, next to that of all others.
function Tiers({ of: { pricing } }: { readonly of: ModelObject }): ReactNode {
  const last = pricing.tiers?.at(-1)
  if (last === undefined) return null
  return (
    <Text size="xs" c="dimmed">
      <PerMillion price={last.prompt} /> above {shortCount(last.above_prompt_tokens)}
    </Text>
  )
}

type RowProps = { readonly of: ModelObject; readonly healthByProvider: HealthByProvider; readonly onOpen: () => void }

function Row({ of: model, healthByProvider, onOpen }: RowProps): ReactNode {
  return (
    <Table.Tr className="row-link" onClick={onOpen}>
      <Table.Td maw={340}>
        <Group gap="2px 6px">
          <UnstyledButton
            fz="sm"
            fw={500}
            c="var(--mantine-color-anchor)"
            onClick={onOpen}
            aria-label={`Open ${model.id}`}
            className="one-line"
            maw={280}
          >
            {model.id}
          </UnstyledButton>
          <OwnerBadge isFiles={model.provisioned} />
          <LossBadge of={model} />
        </Group>
        {model.aliases.length > 0 && (
          <Text size="xs" c="dimmed" className="one-line" maw={300}>
            aliases: {model.aliases.join(', ')}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <StateBadge state={model.status} />
      </Table.Td>
      <Table.Td className="right">
        <PerMillion price={model.pricing.prompt} />
        <Tiers of={model} />
      </Table.Td>
      <Table.Td className="right">
        <PerMillion price={model.pricing.input_cache_read} />
      </Table.Td>
      <Table.Td className="right">
        <PerMillion price={model.pricing.completion} />
      </Table.Td>
      <Table.Td className="right number" title={`${model.context_length} tokens`}>
        {shortCount(model.context_length)}
      </Table.Td>
      <Table.Td>
        <Targets of={model} healthByProvider={healthByProvider} />
      </Table.Td>
    </Table.Tr>
  )
}
