// The mistakes of a configuration file, all of them at once: of its shape, and of the rules that its schema cannot express.
import { catalogFaultsFinder, first } from '../catalog/document.ts'
import { modelFaults, modelNameFaults, providerFaults, providerNameFaults, textFaults } from '../catalog/rules.ts'
import { FACTOR_WORDS } from '../catalog/schema.ts'
import { parseCredits } from '../domain/credits.ts'
import { AT_PAR, type Exchange, parseFactor } from '../domain/dollars.ts'
import { BadCidr, parseCidrs } from '../lib/ip-address.ts'
import { type Fault, type Faults, invalidField, type Path } from '../lib/schema-fault.ts'
import { webUrl } from '../lib/web-url.ts'
import { BadConfig } from './bad-config.ts'
import { WEB_URL_RULE } from './env.ts'
import { type FileInput, FileSchema, WORDS } from './file-schema.ts'
import { portalFaults } from './portal.ts'
import type { YamlFile } from './yaml.ts'

const faultsOf = catalogFaultsFinder(FileSchema, WORDS)
const MISTAKES_MAX = 50

// Rules rely on a valid shape, so that they are checked for the parts that have it.
export function refuseMistakes(path: string, yaml: YamlFile, file: FileInput): void {
  const shape = [...yaml.faults, ...shapeFaults(file)]
  const isFile = shape.every(fault => fault.path.length > 0)
  const faults = isFile ? [...shape, ...fileFaults(file, soundParts(shape))] : shape
  if (faults.length === 0) return
  // The first one of a path: what follows at the same place is a consequence of it.
  const byPath = new Map(faults.toReversed().map(fault => [JSON.stringify(fault.path), fault]))
  const problems = [...byPath.values()].toReversed().map(fault => yaml.problemOf(fault))
  const inOrder = problems.sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0))
  const more = inOrder.length - MISTAKES_MAX
  throw new BadConfig([
    ...inOrder.slice(0, MISTAKES_MAX),
    ...(more > 0 ? [{ file: path, message: `has ${more} more mistakes` }] : []),
  ])
}

// Each setting, provider and model by itself: one check reports only a few faults.
function shapeFaults(file: FileInput): readonly Fault[] {
  const whole = faultsOf(file)
  if (whole.length === 0 || typeof file !== 'object' || Array.isArray(file)) return whole
  const parts = Object.entries(file).flatMap(([name, value]) => {
    if (!Array.isArray(value) || (name !== 'providers' && name !== 'models')) return faultsOf({ [name]: value })
    return value.flatMap((entry, index) =>
      faultsOf({ [name]: [entry] }).map(fault => ({ ...fault, path: [name, index, ...fault.path.slice(2)] })),
    )
  })
  return parts.length === 0 ? whole : parts
}

type IsSound = (name: string, index?: number) => boolean

// Whether a setting, or an entry of a list of the catalog, has none of these faults.
function soundParts(faults: readonly Fault[]): IsSound {
  const parts = new Set(faults.map(({ path: [name, index] }) => partName(String(name), index)))
  return (name, index) => !parts.has(name) && !parts.has(partName(name, index))
}

function partName(name: string, index: string | number | undefined): string {
  const isEntry = (name === 'providers' || name === 'models') && typeof index === 'number'
  return isEntry ? `${name} ${index}` : name
}

// Rules that the schema cannot express, for every part with a valid shape.
function* fileFaults(file: FileInput, isSound: IsSound): Faults {
  yield* textFaults(file, 'resolved')
  const sound = Object.fromEntries(Object.entries(file).filter(([name]) => isSound(name))) as FileInput
  for (const name of ['credits_per_usd', 'markup'] as const)
    if (sound[name] !== undefined && parseFactor(sound[name]) === undefined)
      yield invalidField([name], `must be ${FACTOR_WORDS}`)
  yield* catalogFaults(sound, isSound)
  const { defaults } = sound
  if (typeof defaults?.credit_limit === 'string' && parseCredits(defaults.credit_limit) === undefined)
    yield invalidField(['defaults', 'credit_limit'], 'is too high')
  yield* rangeFaults(['defaults', 'ip_allowlist'], defaults?.ip_allowlist)
  yield* rangeFaults(['trusted_proxies'], sound.trusted_proxies)
  yield* portalFaults(sound.portal)
  if (sound.update_url !== undefined && webUrl(sound.update_url) === undefined)
    yield invalidField(['update_url'], `must be ${WEB_URL_RULE}`)
  for (const [index, origin] of (sound.cors_origins ?? []).entries())
    if (URL.parse(origin)?.origin !== origin)
      yield invalidField(['cors_origins', index], 'must be an origin alone, without a path or a slash at its end')
}

function* catalogFaults(file: FileInput, isSound: IsSound): Faults {
  const { providers = [], models = [] } = file
  for (const [index, provider] of providers.entries())
    if (isSound('providers', index)) yield* within(['providers', index], providerFaults(provider, 'now'))
  yield* providerNameFaults(providers.map(named))
  const ids = new Set(providers.map(idOf))
  const known = {
    // A provider without a valid id may be the one that is meant.
    providers: { has: (id: string) => ids.has(id) || ids.has(undefined) || !isSound('providers') },
    exchange: exchangeOf(file),
    unknownProvider: 'names a provider that this file does not declare',
  }
  for (const [index, model] of models.entries())
    if (isSound('models', index)) yield* within(['models', index], modelFaults(model, known))
  yield* modelNameFaults(models.map((model, index) => (isSound('models', index) ? model : named(model, index))))
}

// Of an entry of any shape.
function idOf(entry: unknown): string | undefined {
  const id = (entry as { readonly id?: unknown } | null)?.id
  return typeof id === 'string' ? id : undefined
}

// Its name alone; one that has none gets one that is not used elsewhere.
function named(entry: unknown, index: number): { readonly id: string } {
  return { id: idOf(entry) ?? `\0${index}` }
}

// The first fault of an entry, whose rules may rely on those before them.
function* within(path: Path, faults: Faults): Faults {
  const fault = first(faults)
  if (fault !== undefined) yield { ...fault, path: [...path, ...fault.path] } satisfies Fault
}

function* rangeFaults(path: Path, ranges: readonly string[] = []): Faults {
  try {
    parseCidrs(ranges)
  } catch (error) {
    if (!(error instanceof BadCidr)) throw error
    yield invalidField([...path, error.index], error.message)
  }
}

export function exchangeOf({ credits_per_usd: rate, markup }: FileInput): Exchange {
  return {
    creditsPerUsd: (rate === undefined ? undefined : parseFactor(rate)) ?? AT_PAR.creditsPerUsd,
    markup: (markup === undefined ? undefined : parseFactor(markup)) ?? AT_PAR.markup,
  }
}
