// Imports models and prices from the bundled price list: reports what is new, what has another price and what cannot be imported,
// and saves all of it or nothing.
import { setImmediate } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { type Target, type WrittenRates, writeCost, writePrices } from '../domain/catalog.ts'
import { type Factor, parseFactor } from '../domain/dollars.ts'
import { documentOf, type IMPORT_COSTS, type ModelDocument } from '../domain/list-model.ts'
import { Refusal } from '../domain/refusal.ts'
import type { Clock } from '../lib/clock.ts'
import { type ListedModel, type PriceList, priceListOf } from '../lib/price-list.ts'
import { starPattern } from '../lib/star-pattern.ts'
import type { ModelEntry, ModelSave } from '../store/contract/catalog.ts'
import type { Actor } from '../store/contract/operator.ts'
import { type CatalogNeeds, merged, thenRefresh } from './catalog-input.ts'
import { everyEntry, providerIds, refusalOf } from './catalog-models.ts'
import { wrong } from './input.ts'

export type ImportOrder = {
  // The vendor, as the list names it.
  readonly list: string
  // The catalog's provider that serves them; by default the vendor's name.
  readonly provider?: string
  // Part of a name, or a pattern with `*`.
  readonly match?: string
  readonly markup?: string
  readonly prefix?: string
  readonly upstream_prefix?: string
  readonly context_length?: number
  readonly max_output_tokens?: number
  // The operator's cost of a target, as the list has it: only where none is stated, always, or never.
  readonly costs?: (typeof IMPORT_COSTS)[number]
  readonly dry_run?: boolean
}

export type ImportedModel = {
  readonly model: string
  readonly change: 'new' | 'changed' | 'same' | 'skipped'
  readonly before: WrittenRates | null
  readonly after: WrittenRates | null
  // Of the target that serves it.
  readonly cost_before: WrittenRates | null
  readonly cost_after: WrittenRates | null
  readonly notes: readonly string[]
}
export type ImportObject = {
  readonly object: 'price_import'
  readonly list: string
  readonly provider: string
  readonly dry_run: boolean
  readonly data: readonly ImportedModel[]
}

export type ImportMethod = (order: ImportOrder, actor: Actor) => Promise<ImportObject>

export function importMethod(needs: CatalogNeeds & { readonly clock: Clock }): ImportMethod {
  return async (order, actor) => {
    const list = priceListOf(order.list, needs.clock.now())
    if (list === undefined)
      throw wrong('list', 'a vendor in the price list, such as openai, anthropic, google, groq or mistral')
    const provider = order.provider ?? list.id
    const providers = await providerIds(needs)
    if (!providers.has(provider)) throw wrong('provider', `the id of an existing provider (there is no ${provider})`)
    const weighed = await weigh(list, { ...order, provider, markup: readMarkup(order.markup), providers }, needs)

    const saves = weighed.flatMap(({ save }) => (save === undefined ? [] : [save]))
    const isDry = order.dry_run === true
    if (!isDry && saves.length > 0) {
      const saved = await thenRefresh(needs, needs.catalog.saveModels(saves, needs.modelsMax, actor))
      if ('refused' in saved) throw refusalOf(saved)
    }
    return { object: 'price_import', list: list.id, provider, dry_run: isDry, data: weighed.map(({ said }) => said) }
  }
}

type Weighed = { readonly said: ImportedModel; readonly save?: ModelSave }
type Order = Omit<ImportOrder, 'markup'> & {
  readonly provider: string
  readonly markup: Factor | undefined
  readonly providers: ReadonlySet<string>
}

async function weigh(list: PriceList, order: Order, needs: CatalogNeeds): Promise<readonly Weighed[]> {
  const names = new Set<string>()
  const served = new Map<string, ModelEntry>()
  for await (const entry of everyEntry(
    page => needs.catalog.models(page),
    each => each.model.id,
  )) {
    if (!entry.active && entry.provisioned) continue
    for (const name of [entry.model.id, ...entry.model.aliases]) names.add(name)
    for (const target of entry.model.targets) served.set(`${target.provider} ${target.model}`, entry)
  }
  const isAsked = matcher(order.match)
  const asked = list.models.filter(listed => isAsked(listed.id) && !listed.isDeprecated)
  const weighed: Weighed[] = []
  for (const listed of asked) {
    weighed.push(weighOne(listed, { order, names, served }, needs))
    // Hundreds of them at once would hold up every stream.
    if (weighed.length % MODELS_PER_TURN === 0) await setImmediate()
  }
  return weighed
}

const MODELS_PER_TURN = 8

type Known = { readonly order: Order; readonly names: Set<string>; readonly served: ReadonlyMap<string, ModelEntry> }

function weighOne(listed: ListedModel, { order, names, served }: Known, needs: CatalogNeeds): Weighed {
  const { provider, prefix = `${provider}/`, upstream_prefix: upstreamPrefix = '' } = order
  const known = { contextLength: order.context_length, maxOutputTokens: order.max_output_tokens }
  const document = documentOf(listed, { provider, prefix, upstreamPrefix, ...known })
  if (typeof document === 'string') return skipped(prefix + listed.id, document)
  const there = served.get(`${provider} ${upstreamPrefix}${listed.id}`)
  const alias = prefix === '' || listed.id.includes('/') || names.has(listed.id) ? [] : [listed.id]
  try {
    const wanted = { ...document, targets: targetsOf(document, order), aliases: alias }
    const model = { ...needs.reader.model(wanted, order.providers, order.markup), newPriceVersion: needs.newId() }
    if (there !== undefined) return weighAgain(listed, { order, there, document, model })
    if (names.has(model.id)) return skipped(model.id, 'another model has this id; use a different prefix')
    for (const name of [model.id, ...alias]) names.add(name)
    const cost_after = costOf(model.targets[0])
    const after = writePrices(model.prices)
    const said = { model: model.id, change: 'new' as const, before: null, after, cost_before: null, cost_after }
    const save = { model, entered: JSON.stringify(wanted), active: true, basedOn: null }
    return { said: { ...said, notes: listed.notes }, save }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return skipped(prefix + listed.id, error.message)
  }
}

type Imported = ModelSave['model']
type Again = {
  readonly order: Order
  readonly there: ModelEntry
  readonly document: ModelDocument
  readonly model: Imported
}

// A model of the catalog gets the list's price. The cost of its target is the operator's own once it is stated.
function weighAgain(listed: ListedModel, { order, there, document, model }: Again): Weighed {
  const [given] = document.targets
  const isServing = (target: Named) => target.provider === given.provider && target.model === given.model
  const cost_before = costOf(there.model.targets.find(isServing))
  const listedCost = costOf(model.targets[0])
  const isFilled = listedCost !== null && (cost_before === null || order.costs === 'replace')
  const cost_after = isFilled ? listedCost : cost_before
  const differs = listedCost !== null && !isFilled && !isDeepStrictEqual(cost_before, listedCost)
  const notes = differs ? [...listed.notes, 'its stated cost differs from the list and is kept'] : listed.notes
  const [before, after] = [writePrices(there.model.prices), writePrices(model.prices)]
  const said = { model: there.model.id, change: 'changed' as const, before, after, cost_before, cost_after, notes }
  if (isDeepStrictEqual([before, cost_before], [after, cost_after])) return { said: { ...said, change: 'same' } }
  if (there.provisioned)
    return { said: { ...said, change: 'skipped', notes: [...notes, 'declared in the configuration file'] } }

  const cost = isFilled ? model.targets[0]?.cost : undefined
  const withCost = <T extends Named>(targets: readonly T[], value: unknown): readonly T[] =>
    cost === undefined ? targets : targets.map(each => (isServing(each) ? { ...each, cost: value } : each))
  const { targets: entered } = JSON.parse(there.entered ?? '{}') as { readonly targets?: readonly Named[] }
  const costs = entered === undefined ? {} : { targets: withCost(entered, given.cost) }
  const changed = merged(there.entered, { pricing: document.pricing, ...costs })
  const targets = withCost(there.model.targets, cost)
  const repriced = { ...there.model, targets, prices: model.prices, newPriceVersion: model.newPriceVersion }
  return {
    said,
    save: {
      model: withoutOrigin(repriced),
      entered: JSON.stringify(changed),
      active: there.active,
      basedOn: there.version,
    },
  }
}

type Named = { readonly provider: string; readonly model: string }

function targetsOf({ targets: [target] }: ModelDocument, { costs }: Order): readonly Named[] {
  const { cost: _, ...named } = target
  return [costs === 'keep' ? named : target]
}

function costOf(target: Target | undefined): WrittenRates | null {
  return target?.cost === undefined ? null : writeCost(target.cost)
}

function skipped(model: string, why: string): Weighed {
  const unknown = { before: null, after: null, cost_before: null, cost_after: null }
  return { said: { model, change: 'skipped', ...unknown, notes: [why] } }
}

function withoutOrigin<T extends { createdAt: number; priceVersion: string }>(
  model: T,
): Omit<T, 'createdAt' | 'priceVersion'> {
  const { createdAt: _at, priceVersion: _version, ...rest } = model
  return rest
}

function readMarkup(text: string | undefined): Factor | undefined {
  if (text === undefined) return undefined
  const factor = parseFactor(text)
  if (factor === undefined) throw wrong('markup', 'a decimal number above 0 with at most 6 decimals, such as "1.2"')
  return factor
}

function matcher(pattern: string | undefined): (name: string) => boolean {
  if (pattern === undefined || pattern === '') return () => true
  if (!pattern.includes('*')) return name => name.includes(pattern)
  return starPattern(pattern)
}
