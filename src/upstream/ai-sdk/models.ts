// Creates a model of each AI SDK package. Everything it needs is passed in: it reads no environment, looks for no credentials,
// and calls only through the given function. A package is loaded on first use.
import type { EmbeddingModelV4, LanguageModelV4 } from '@ai-sdk/provider'
import type { Credential, Provider, ProviderKind } from '../../domain/catalog.ts'
import { isSdkKind, SDK_PRESETS, type SdkKind } from '../../domain/presets.ts'
import type { FetchFunction } from '../fetch.ts'
import { serviceAccountOf } from './vertex-token.ts'

export type ModelSetup = {
  readonly provider: Provider
  readonly credential: Credential
  readonly model: string
  readonly send: FetchFunction
}

export async function sdkModel(kind: SdkKind, setup: ModelSetup): Promise<LanguageModelV4> {
  return (await MAKERS[kind](setup)).languageModel(setup.model)
}

export async function sdkEmbeddingModel(kind: SdkKind, setup: ModelSetup): Promise<EmbeddingModelV4> {
  return (await MAKERS[kind](setup)).embeddingModel(setup.model)
}

type Made = {
  languageModel(model: string): LanguageModelV4
  embeddingModel(model: string): EmbeddingModelV4
}

// A message naming the packages that must be installed before these providers can be called; undefined when nothing is missing.
export function missingPackages(
  providers: readonly { readonly kind: ProviderKind }[],
  resolve: (name: string) => unknown = import.meta.resolve,
): string | undefined {
  const kinds = new Set(providers.map(({ kind }) => kind).filter(isSdkKind))
  const missing = [...kinds].filter(kind => !isThere(SDK_PRESETS[kind].package, resolve))
  if (missing.length === 0) return undefined
  const packages = missing.map(kind => SDK_PRESETS[kind].package)
  return `providers of kind ${missing.join(', ')} require a package that is not installed: npm install ${packages.join(' ')}`
}

function isThere(name: string, resolve: (name: string) => unknown): boolean {
  try {
    resolve(name)
    return true
  } catch {
    return false
  }
}

// Missing options would be read from the environment, so all are given, if only as an empty string.
const MAKERS: Readonly<Record<SdkKind, (setup: ModelSetup) => Promise<Made>>> = {
  async anthropic({ provider, credential, send }) {
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    return createAnthropic({ baseURL: provider.baseUrl, apiKey: credential.secret, fetch: send })
  },
  async google({ provider, credential, send }) {
    const { createGoogle } = await import('@ai-sdk/google')
    return createGoogle({ baseURL: provider.baseUrl, apiKey: credential.secret, fetch: send })
  },
  // With an API key the package requests no token. For a service account the adapter replaces the key with the token.
  async vertex({ provider, credential, send }) {
    const { createGoogleVertex } = await import('@ai-sdk/google-vertex/edge')
    const apiKey = serviceAccountOf(credential).account === undefined ? credential.secret : 'a-token-instead'
    return createGoogleVertex({ baseURL: provider.baseUrl, apiKey, project: '', location: '', fetch: send })
  },
  async bedrock({ provider, credential, send }) {
    const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock')
    const common = { baseURL: provider.baseUrl, region: provider.settings.region ?? '', fetch: send }
    const [accessKeyId = '', secretAccessKey, sessionToken] = credential.secret.split(':')
    if (secretAccessKey === undefined) return createAmazonBedrock({ ...common, apiKey: credential.secret })
    const signed = { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) }
    return createAmazonBedrock({ ...common, apiKey: '', ...signed })
  },
  async cohere({ provider, credential, send }) {
    const { createCohere } = await import('@ai-sdk/cohere')
    return createCohere({ baseURL: provider.baseUrl, apiKey: credential.secret, fetch: send })
  },
}
