// Reads a provider or a model from an operator's input or a list of known ones: by the schema first, then by the rules of the
// configuration file.
import type { TSchema } from 'typebox'
import { type Fault, type Faults, faultFinder, faultsFinder } from '../lib/schema-fault.ts'
import { type ModelDeclaration, modelOf } from './model.ts'
import { declarationOf, type ProviderDeclaration } from './provider.ts'
import { type Known, modelFaults, providerFaults, textFaults } from './rules.ts'
import { type ModelInput, ModelSchema, PATTERN_WORDS, type ProviderInput, ProviderSchema } from './schema.ts'

export class InvalidDocument extends Error {
  override readonly name = 'InvalidDocument'
  readonly fault: Fault

  constructor(fault: Fault) {
    super(`${fault.path.join('.')} ${fault.problem}`)
    this.fault = fault
  }
}

export function readProvider(document: object): ProviderDeclaration {
  refuse(faultOfProvider(document))
  refuse(first(textFaults(document, 'refused')))
  const input = document as ProviderInput
  refuse(first(providerFaults(input, 'later')))
  return declarationOf(input)
}

export function readModel(document: object, known: Omit<Known, 'unknownProvider'>): ModelDeclaration {
  refuse(faultOfModel(document))
  refuse(first(textFaults(document, 'refused')))
  const input = document as ModelInput
  refuse(first(modelFaults(input, { ...known, unknownProvider: 'names a provider that does not exist' })))
  return modelOf(input, known.exchange)
}

// Rules may rely on those before them, so none is evaluated after the first fault.
export function first(faults: Faults): Fault | undefined {
  for (const fault of faults) return fault
  return undefined
}

// The words of patterns of its own, in addition to those of the catalog.
export function catalogFaultsFinder(
  schema: TSchema,
  words: Readonly<Record<string, string>>,
): (value: unknown) => readonly Fault[] {
  return faultsFinder(schema, pattern => PATTERN_WORDS[pattern] ?? words[pattern] ?? OTHER_FORM)
}

const OTHER_FORM = 'of another form'
const faultOfProvider = faultFinder(ProviderSchema, pattern => PATTERN_WORDS[pattern] ?? OTHER_FORM)
const faultOfModel = faultFinder(ModelSchema, pattern => PATTERN_WORDS[pattern] ?? OTHER_FORM)

function refuse(fault: Fault | undefined): void {
  if (fault !== undefined) throw new InvalidDocument(fault)
}
