// Creates a model of each AI SDK package. Everything it needs is passed in: it reads no environment, looks for no credentials,
// and calls only through the given function. A package is loaded on first use.
import type { EmbeddingModelV4, LanguageModelV4 } from '@ai-sdk/provider'
import type { Credential, Provider, ProviderKind } from '../../domain/catalog.ts'
import { isOnVertex, isSdkKind, packageOf, type SdkKind } from '../../domain/presets.ts'
import type { FetchFunction } from '../fetch.ts'
import { serviceAccountOf } from '../vertex/token.ts'

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
  providers: readonly Pick<Provider, 'kind' | 'settings'>[],
  resolve: (name: string) => unknown = import.meta.resolve,
): string | undefined {
  const needed = new Map<string, ProviderKind>()
  for (const provider of providers) {
    const name = isSdkKind(provider.kind) ? packageOf(provider.kind, provider.settings) : undefined
    if (name !== undefined && !isThere(name, resolve)) needed.set(name, provider.kind)
  }
  if (needed.size === 0) return undefined
  const [kinds, packages] = [[...needed.values()].join(', '), [...needed.keys()].join(' ')]
  return `providers of kind ${kinds} require a package that is not installed: npm install ${packages}`
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
    if (isOnVertex(provider)) {
      const { createVertexAnthropic } = await import('@ai-sdk/google-vertex/anthropic/edge')
      const generateAuthToken = () => Promise.resolve(tokenOrPlaceholder(credential))
      const baseURL = `${provider.baseUrl}/models`
      return createVertexAnthropic({ baseURL, project: '', location: '', generateAuthToken, fetch: send })
    }
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    return createAnthropic({ baseURL: provider.baseUrl, apiKey: credential.secret, fetch: send })
  },
  async google({ provider, credential, send }) {
    const { createGoogle } = await import('@ai-sdk/google')
    return createGoogle({ baseURL: provider.baseUrl, apiKey: credential.secret, fetch: send })
  },
  // With an API key the package requests no token.
  async vertex({ provider, credential, send }) {
    const { createGoogleVertex } = await import('@ai-sdk/google-vertex/edge')
    const apiKey = tokenOrPlaceholder(credential)
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

// For a service account, what the adapter replaces with the token.
function tokenOrPlaceholder(credential: Credential): string {
  return serviceAccountOf(credential).account === undefined ? credential.secret : 'a-token-instead'
}
