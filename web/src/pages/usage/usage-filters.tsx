// The filters of the usage list, each one a URL parameter.
import { Autocomplete, Button, MultiSelect, Select } from '@mantine/core'
import { useDebouncedCallback, useDisclosure } from '@mantine/hooks'
import { type ReactNode, useEffect, useState } from 'react'
import { REFUSALS } from '../../../../src/domain/refusal.ts'
import type { Endpoint } from '../../../../src/domain/usage.ts'
import { useModelDirectory } from '../../api/models.ts'
import { useProviders } from '../../api/providers.ts'
import { USAGE_FILTERS, type UsageFilter } from '../../api/usage.ts'
import { AccountSelect } from '../../components/account-name.tsx'
import { KeySelect } from '../../components/key-name.tsx'
import type { SetParams } from '../../components/search-params.ts'
import { CAUSES, OUTCOME_FILTERS } from '../../components/usage/outcomes.ts'
import { RangeSelect } from './range-select.tsx'
import { TagFilter } from './tag-filter.tsx'
import classes from './usage-filters.module.css'
import type { UsageRange } from './usage-ranges.ts'

// A record, so that a new endpoint in the domain is a type error here.
const ENDPOINTS: Readonly<Record<Endpoint | 'all', string>> = {
  'chat.completions': 'chat completions',
  messages: 'messages',
  responses: 'responses',
  embeddings: 'embeddings',
  'messages.count_tokens': 'token counts',
  'chat.completions.quote': 'quotes',
  models: 'models',
  'key.introspect': 'key introspection',
  usage: 'usage',
  unknown: 'unknown paths',
  all: 'all endpoints',
}

// Those that a row can have.
const ERROR_CODES = Object.entries(REFUSALS).flatMap(([code, { row }]) => (row === 'none' ? [] : [code]))

// The server's default.
const BILLED = 'billed'

const choices = (labels: Readonly<Record<string, string>>) =>
  Object.entries(labels).map(([value, label]) => ({ value, label }))

type Props = { readonly range: UsageRange; readonly filter: UsageFilter; readonly onChange: SetParams }

export function UsageFilters({ range, filter, onChange }: Props): ReactNode {
  const isFiltered = range !== 'all' || Object.keys(filter).length > 0
  const others = Object.keys(filter).filter(name => name !== 'from' && name !== 'to').length
  const [isOpen, { toggle }] = useDisclosure(others > 0)
  return (
    <search className={classes.filters}>
      <RangeSelect range={range} filter={filter} onChange={onChange} />
      <Button variant="default" hiddenFrom="xs" aria-expanded={isOpen} onClick={toggle}>
        {isOpen ? 'Fewer filters' : `Filters${others === 0 ? '' : ` (${others})`}`}
      </Button>
      <div className={isOpen ? classes.others : `${classes.others} ${classes.folded}`}>
        <OtherFilters filter={filter} onChange={onChange} />
      </div>
      {isFiltered && (
        <Button
          variant="subtle"
          onClick={() =>
            onChange(Object.fromEntries(['range', 'error_code', ...USAGE_FILTERS].map(name => [name, ''])))
          }
        >
          Clear filters
        </Button>
      )}
    </search>
  )
}

function OtherFilters({ filter, onChange }: Omit<Props, 'range'>): ReactNode {
  const models = useModelDirectory()
  const { data: providers = [] } = useProviders()
  return (
    <>
      <Words
        label="Model"
        value={filter.model ?? ''}
        data={models.map(({ id }) => id)}
        onSet={model => onChange({ model })}
      />
      <Words
        label="Provider"
        value={filter.provider ?? ''}
        data={providers.map(({ id }) => id)}
        onSet={provider => onChange({ provider })}
      />
      <KeySelect value={filter.key_id ?? ''} onChange={id => onChange({ key_id: id })} />
      <AccountSelect value={filter.account_id ?? ''} onChange={id => onChange({ account_id: id })} />
      <Select
        aria-label="Outcome"
        placeholder="Any outcome"
        clearable
        data={choices(OUTCOME_FILTERS)}
        value={filter.outcome ?? null}
        onChange={outcome => onChange({ outcome: outcome ?? '' })}
      />
      <Select
        aria-label="Cause of failure"
        placeholder="Any cause"
        clearable
        data={choices(CAUSES)}
        value={filter.cause ?? null}
        onChange={cause => onChange({ cause: cause ?? '' })}
      />
      <Select
        aria-label="Endpoint"
        data={[{ value: BILLED, label: 'billed endpoints' }, ...choices(ENDPOINTS)]}
        allowDeselect={false}
        value={filter.endpoint ?? BILLED}
        onChange={endpoint => onChange({ endpoint: endpoint === BILLED ? '' : (endpoint ?? '') })}
      />
      <MultiSelect
        aria-label="Error code"
        placeholder={filter.error_code === undefined ? 'Any error code' : ''}
        clearable
        searchable
        data={ERROR_CODES}
        value={[...(filter.error_code ?? [])]}
        onChange={codes => onChange({ error_code: codes })}
      />
      <TagFilter value={filter.tag ?? ''} onSet={tag => onChange({ tag })} />
    </>
  )
}

type WordsProps = {
  readonly label: string
  readonly value: string
  readonly data: readonly string[]
  readonly onSet: (text: string) => void
}

function Words({ label, value, data, onSet }: WordsProps): ReactNode {
  const [text, setText] = useState(value)
  const set = useDebouncedCallback(onSet, 300)
  useEffect(() => setText(value), [value])
  return (
    <Autocomplete
      aria-label={label}
      placeholder={label}
      maxLength={256}
      limit={50}
      data={[...new Set(data)]}
      value={text}
      onChange={next => {
        setText(next)
        set(next)
      }}
    />
  )
}
