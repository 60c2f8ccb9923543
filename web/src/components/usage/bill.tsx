// The cost of a request: tokens multiplied by the prices at that time.
import { Table, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { UsageRow } from '../../api/usage.ts'
import { exactAmount } from '../../format/amounts.ts'
import { unitLabel } from '../../format/currency.ts'
import { isZero, shiftDecimal } from '../../format/decimals.ts'
import { count } from '../../format/numbers.ts'
import { Credits } from '../credits.tsx'
import { Panel } from '../panel.tsx'
import { TableFrame } from '../table-frame.tsx'

const columns = () => [
  { name: 'Type' },
  { name: 'Tokens', isRight: true },
  { name: `${unitLabel()} per million`, isRight: true },
]

const SOURCES = {
  upstream: 'Tokens as counted by the provider.',
  estimate: 'Tokens estimated, because the provider did not report them.',
  none: 'No tokens were counted.',
} as const

type Billed = Pick<
  UsageRow,
  | 'prompt_tokens'
  | 'cached_tokens'
  | 'cache_write_tokens'
  | 'cache_write_1h_tokens'
  | 'image_tokens'
  | 'audio_tokens'
  | 'completion_tokens'
  | 'reasoning_tokens'
  | 'state'
  | 'usage_source'
  | 'price'
  | 'price_version'
  | 'hold'
  | 'cost'
>

// `children`: further sums, which only operators see, if there are any.
export function Bill({ of: row, children }: { readonly of: Billed; readonly children?: ReactNode }): ReactNode {
  const { image_tokens: image, audio_tokens: audio } = row
  const fresh = row.prompt_tokens - row.cached_tokens - row.cache_write_tokens - image - audio
  const price = row.price && pricesFor(row.prompt_tokens, row.price)
  if (isFree(row) && !children) {
    return (
      <Panel title="Tokens and cost">
        <Text size="sm">Nothing was charged: no tokens were counted.</Text>
      </Panel>
    )
  }
  return (
    <Panel title="Tokens and cost" about={SOURCES[row.usage_source]} flush>
      <TableFrame label="Tokens and prices" columns={columns()} hasCards={false}>
        <Line kind="Prompt" tokens={fresh} price={price?.prompt} />
        {image > 0 && <Line kind="Prompt, images" tokens={image} price={price?.image ?? price?.prompt} />}
        {audio > 0 && <Line kind="Prompt, audio" tokens={audio} price={price?.audio ?? price?.prompt} />}
        <Line kind="Prompt, cache read" tokens={row.cached_tokens} price={price?.input_cache_read} />
        <Line
          kind="Prompt, cache write"
          tokens={row.cache_write_tokens - row.cache_write_1h_tokens}
          price={price?.input_cache_write}
        />
        {row.cache_write_1h_tokens > 0 && (
          <Line
            kind="Prompt, cache write for 1 hour"
            tokens={row.cache_write_1h_tokens}
            price={price?.input_cache_write_1h ?? price?.input_cache_write}
          />
        )}
        <Line
          kind={row.reasoning_tokens === 0 ? 'Completion' : `Completion (${count(row.reasoning_tokens)} reasoning)`}
          tokens={row.completion_tokens}
          price={price?.completion}
        />
        {price !== null && (
          <Table.Tr>
            <Table.Td>Request fee</Table.Td>
            <Table.Td />
            <Table.Td className="right">
              <Credits value={price.request} isExact /> per request
            </Table.Td>
          </Table.Tr>
        )}
        <Sum name="Cost" value={row.cost} isBold />
        <Sum name="Initial hold" value={row.hold} />
        {children}
      </TableFrame>
      {row.price_version !== null && (
        <Text size="xs" c="dimmed" px="md" py="xs">
          Price version <span className="mono break">{row.price_version}</span>
        </Text>
      )}
    </Panel>
  )
}

// A request that was refused, or that failed before anything was produced.
function isFree(row: Billed): boolean {
  return (
    row.state !== 'open' &&
    row.usage_source === 'none' &&
    row.prompt_tokens + row.completion_tokens === 0 &&
    isZero(row.cost)
  )
}

// Those of the tier that the prompt was long enough for.
function pricesFor(promptTokens: number, price: NonNullable<UsageRow['price']>): NonNullable<UsageRow['price']> {
  const tier = price.tiers?.findLast(({ above_prompt_tokens }) => promptTokens > above_prompt_tokens)
  return tier === undefined ? price : { ...price, ...tier }
}

type LineProps = { readonly kind: string; readonly tokens: number; readonly price: string | undefined }

function Line({ kind, tokens, price }: LineProps): ReactNode {
  const million = price === undefined ? undefined : shiftDecimal(price, 6)
  return (
    <Table.Tr>
      <Table.Td>{kind}</Table.Td>
      <Table.Td className="right number">{count(tokens)}</Table.Td>
      <Table.Td className="right number">{million === undefined ? '–' : exactAmount(million)}</Table.Td>
    </Table.Tr>
  )
}

export function Sum({
  name,
  value,
  isBold = false,
  isLoss = false,
}: {
  readonly name: string
  readonly value: string
  readonly isBold?: boolean
  readonly isLoss?: boolean
}): ReactNode {
  return (
    <Table.Tr fw={isBold ? 650 : 400}>
      <Table.Td>{name}</Table.Td>
      <Table.Td colSpan={2} className="right" c={isLoss ? 'var(--mantine-color-error)' : undefined}>
        <Credits value={value} isExact hasUnit />
      </Table.Td>
    </Table.Tr>
  )
}
