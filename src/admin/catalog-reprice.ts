// Changes the prices of many models by the same percentage: reports the old and the new ones, and saves all of them or none. What
// the file declares is not changed here.
import { isDeepStrictEqual } from 'node:util'
import { type EnteredRates, typeOf, type WrittenRates, worstRequest, writePrices } from '../domain/catalog.ts'
import {
  COST_MAX,
  ceilDiv,
  ceilNano,
  formatCredits,
  formatPrice,
  NANO_MAX,
  type Pico,
  type Prices,
  parsePrice,
} from '../domain/credits.ts'
import type { ModelEntry, ModelSave } from '../store/contract/catalog.ts'
import type { Actor } from '../store/contract/operator.ts'
import { type CatalogNeeds, merged, thenRefresh } from './catalog-input.ts'
import { everyEntry, refusalOf } from './catalog-models.ts'
import { conflict, missing, wrong } from './input.ts'

export type RepriceOrder = {
  // Such as "10" or "-2.5".
  readonly percent: string
  // All that operators own, if absent. With a version, only if it is still the current one. Required to save: a repeated request
  // must not change the prices twice.
  readonly models?: readonly { readonly id: string; readonly version?: number }[]
  readonly dry_run?: boolean
}

export type RepricedModel = {
  readonly model: string
  readonly version: number
  readonly change: 'changed' | 'same' | 'skipped'
  // What clients pay, in credits.
  readonly before: WrittenRates
  readonly after: WrittenRates
  readonly notes: readonly string[]
}
export type RepriceObject = {
  readonly object: 'price_change'
  readonly percent: string
  readonly dry_run: boolean
  readonly data: readonly RepricedModel[]
}

export type RepriceMethod = (order: RepriceOrder, actor: Actor) => Promise<RepriceObject>

export function repriceMethod(needs: CatalogNeeds): RepriceMethod {
  return async (order, actor) => {
    const factor = readPercent(order.percent)
    const isDry = order.dry_run === true
    if (!isDry) requireVersions(order)
    const entries = await entriesOf(order, needs)
    const changes = entries.map(entry => changeOf(entry, factor, needs))
    const saves = changes.flatMap(({ save }) => (save === undefined ? [] : [save]))
    if (!isDry && saves.length > 0) {
      const saved = await thenRefresh(needs, needs.catalog.saveModels(saves, needs.modelsMax, actor))
      if ('refused' in saved) throw refusalOf(saved)
    }
    return { object: 'price_change', percent: order.percent, dry_run: isDry, data: changes.map(({ said }) => said) }
  }
}

// 10⁻⁴ of one: 11000 is ten percent more.
type Factor = bigint
const ONE: Factor = 10_000n

function readPercent(text: string): Factor {
  const match = /^([+-]?)(\d{1,4})(?:\.(\d{1,2}))?$/.exec(text)
  if (match === null) throw wrong('percent', 'a number with at most two decimals, such as "10" or "-2.5"')
  const size = BigInt((match[2] ?? '') + (match[3] ?? '').padEnd(2, '0'))
  const factor = match[1] === '-' ? ONE - size : ONE + size
  if (factor <= 0n) throw wrong('percent', 'above -100')
  return factor
}

function requireVersions({ models }: RepriceOrder): void {
  if (models === undefined) throw missing('models')
  const without = models.findIndex(({ version }) => version === undefined)
  if (without !== -1) throw missing(`models.${without}.version`)
}

// Read page by page, also those that are named: there may be thousands.
async function entriesOf({ models }: RepriceOrder, { catalog }: CatalogNeeds): Promise<readonly ModelEntry[]> {
  const all = new Map<string, ModelEntry>()
  for await (const entry of everyEntry(
    page => catalog.models(page),
    each => each.model.id,
  ))
    all.set(entry.model.id, entry)
  if (models === undefined) return [...all.values()].filter(({ provisioned }) => !provisioned)
  return [...new Map(models.map(each => [each.id, each])).values()].map(({ id, version }) => {
    const entry = all.get(id)
    if (entry === undefined) throw conflict(`The model ${id} no longer exists.`, 'models')
    // Another operator has changed it since the preview.
    if (version !== undefined && version !== entry.version) throw refusalOf({ id, refused: 'changed', which: id })
    return entry
  })
}

type Change = { readonly said: RepricedModel; readonly save?: ModelSave }

function changeOf(entry: ModelEntry, factor: Factor, { newId }: CatalogNeeds): Change {
  const { model, version } = entry
  const { createdAt: _at, priceVersion: _version, ...rest } = model
  const prices = scaledPrices(model.prices, factor)
  const [before, after] = [writePrices(model.prices), writePrices(prices)]
  const said = { model: model.id, version, change: 'changed' as const, before, after, notes: [] }
  if (entry.provisioned)
    return { said: { ...said, change: 'skipped', after: before, notes: ['declared in the configuration file'] } }
  if (isDeepStrictEqual(before, after)) return { said: { ...said, change: 'same' } }
  const worst = ceilNano(worstRequest(model, typeOf(model), prices))
  if (factor > ONE && worst > COST_MAX)
    throw wrong(
      'percent',
      `less: one request to ${model.id} could cost ${formatCredits(worst)} credits, and ${formatCredits(COST_MAX)} is the most`,
    )
  const { pricing } = JSON.parse(entry.entered ?? '{}') as { readonly pricing?: EnteredRates }
  const entered = pricing === undefined ? {} : { pricing: scaledEntered(pricing, factor) }
  return {
    said,
    save: {
      model: { ...rest, prices, newPriceVersion: newId() },
      entered: JSON.stringify(merged(entry.entered, entered)),
      active: entry.active,
      basedOn: version,
    },
  }
}

function scaledPrice(price: Pico, factor: Factor): Pico {
  const scaled = ceilDiv(price * factor, ONE)
  if (scaled > NANO_MAX) throw wrong('percent', 'less: a price would be above 9000000')
  return scaled
}

// Upwards to a trillionth of a credit, like every price.
function scaledPrices({ tiers, ...rates }: Prices, factor: Factor): Prices {
  const scaled = <T extends object>(of: T): T => {
    const fields = Object.entries(of).map(([name, value]) => [
      name,
      typeof value === 'bigint' ? scaledPrice(value, factor) : value,
    ])
    return Object.fromEntries(fields) as T
  }
  return tiers === undefined ? scaled(rates) : { ...scaled(rates), tiers: tiers.map(scaled) as typeof tiers }
}

// What the operator entered, in US dollars, to a trillionth.
function scaledEntered({ tiers, ...rates }: EnteredRates, factor: Factor): EnteredRates {
  const scaled = <T extends object>(of: T): T => {
    const fields = Object.entries(of).map(([name, value]) => {
      const price = typeof value === 'string' ? parsePrice(value) : undefined
      return [name, price === undefined ? value : formatPrice(scaledPrice(price, factor))]
    })
    return Object.fromEntries(fields) as T
  }
  return tiers === undefined ? scaled(rates) : { ...scaled(rates), tiers: tiers.map(scaled) }
}
