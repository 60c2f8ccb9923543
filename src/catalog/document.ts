// Reads a provider or a model from an operator's input or a list of known ones: by the schema first, then by the rules of the
// configuration file.
import type { TSchema } from 'typebox'
import { type Fault, type Faults, faultFinder } from '../lib/schema-fault.ts'
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

export function catalogFaultFinder(
  schema: TSchema,
  words: Readonly<Record<string, string>> = {},
): (value: unknown) => Fault | undefined {
  return faultFinder(schema, pattern => PATTERN_WORDS[pattern] ?? words[pattern] ?? 'of another form')
}

const faultOfProvider = catalogFaultFinder(ProviderSchema)
const faultOfModel = catalogFaultFinder(ModelSchema)

function refuse(fault: Fault | undefined): void {
  if (fault !== undefined) throw new InvalidDocument(fault)
}
