// What every store guarantees for the catalog. What a file declares is provisioned in one transaction and belongs to the file
// alone; what operators enter is theirs. The store sees only encrypted credentials.
import type { Model, Provider, WrittenRates } from '../../domain/catalog.ts'
import type { Actor, Page, Paged } from './operator.ts'

export type CatalogStore = {
  // The catalog in force: active providers and models, and the encrypted credentials of those providers.
  load(): Promise<StoredCatalog>
  // Makes the catalog what the file declares. `created_at` and `price_version` of unchanged entries stay; entries no longer
  // declared become inactive; nothing that operators added is touched.
  provision(declared: DeclaredCatalog, order: ProvisionOrder): Promise<Provisioned>

  provider(id: string): Promise<ProviderEntry | undefined>
  providers(page: Page): Promise<Paged<ProviderEntry>>
  createProvider(input: NewProvider, max: number, actor: Actor): Promise<ProviderEntry | 'exists' | 'too_many'>
  updateProvider(id: string, change: ProviderChange, actor: Actor): Promise<ProviderEntry | Stale | undefined>
  // A provider used by an active model is not deleted.
  deleteProvider(
    id: string,
    basedOn: number | undefined,
    actor: Actor,
  ): Promise<'deleted' | Stale | { readonly usedBy: readonly string[] } | undefined>
  // For the provider as it was read: a secret entered for one address must not be used for another.
  addCredential(
    credential: NewCredential,
    when: { readonly basedOn: number; readonly max: number },
    actor: Actor,
  ): Promise<ProviderEntry | Stale | 'too_many' | undefined>
  removeCredential(providerId: string, id: string, actor: Actor): Promise<ProviderEntry | undefined>
  // Replaces every credential by these texts in one transaction, for another key. One that another node has encrypted again
  // meanwhile stays.
  credentials(): Promise<readonly EncryptedCredential[]>
  replaceCredentials(credentials: readonly ReencryptedCredential[]): Promise<void>

  model(id: string): Promise<ModelEntry | undefined>
  models(page: Page): Promise<Paged<ModelEntry>>
  // All or none; and none if there would be more than `max`.
  saveModels(saves: readonly ModelSave[], max: number, actor: Actor): Promise<readonly ModelEntry[] | Unsaved>
  deleteModel(id: string, basedOn: number | undefined, actor: Actor): Promise<'deleted' | Stale | undefined>

  // Those of a provider, or all. A configuration file changes nothing about them.
  disabledTargets(providerId?: string): Promise<readonly DisabledTarget[]>
  // Undefined: there is no such provider.
  setTargetDisabled(
    target: TargetName,
    disabled: boolean,
    max: number,
    actor: Actor,
  ): Promise<'done' | 'too_many' | undefined>
  // The audit event of a test.
  recordTest(test: TargetTest, actor: Actor): Promise<void>
}

// A provider's model, whichever models of the catalog it serves.
export type TargetName = { readonly providerId: string; readonly model: string }
// By the name of the operator.
export type DisabledTarget = TargetName & { readonly actor: string; readonly disabledAt: number }
export type TargetTest = TargetName & { readonly outcome: string }

// `changed`: it is not what the change was based on. `provisioned`: a file declares it.
export type Stale = 'changed' | 'provisioned'

export type DeclaredModel = Omit<Model, 'createdAt' | 'priceVersion'> & { readonly newPriceVersion: string }
export type DeclaredCatalog = { readonly providers: readonly Provider[]; readonly models: readonly DeclaredModel[] }
export type StoredCatalog = {
  readonly providers: readonly Provider[]
  readonly models: readonly Model[]
  readonly credentials: readonly EncryptedCredential[]
  readonly disabledTargets: readonly DisabledTarget[]
  // Ids of the providers that a file declares.
  readonly provisioned: readonly string[]
  // The digest of the file applied last, by any node; null if there is none.
  readonly digest: string | null
  // Incremented with every change.
  readonly revision: number
}

export type ProvisionOrder = {
  // Of the file's text; null where there is no file.
  readonly digest: string | null
  // Also a file that was superseded by a newer one.
  readonly evenSuperseded: boolean
  // For a name that an operator's model has: refuse everything, or apply all except that name.
  readonly clashes: 'refuse' | 'leave_out'
  // Reports what would change and changes nothing.
  readonly dryRun: boolean
  readonly actor: Actor
}
export type Provisioned = {
  readonly superseded: boolean
  readonly changes: readonly CatalogChange[]
  readonly clashes: readonly NameClash[]
}

// An id or alias of a declared model that is an id or alias of the operator's model `owner`.
export type NameClash = { readonly model: string; readonly name: string; readonly owner: string }

export type CatalogChange = {
  readonly what: 'provider' | 'model'
  readonly id: string
  readonly change: 'added' | 'changed' | 'removed'
  // The differences by name; for prices the old and the new ones.
  readonly fields: readonly string[]
  readonly price: { readonly before: WrittenRates | null; readonly after: WrittenRates } | null
}

type Standing = {
  readonly provisioned: boolean
  readonly active: boolean
  // Incremented with every change.
  readonly version: number
  // What the operator sent, as JSON; null for what a file declares.
  readonly entered: string | null
  readonly createdAt: number
}
export type CredentialEntry = { readonly id: string; readonly last4: string; readonly createdAt: number }
export type ProviderEntry = Standing & {
  readonly provider: Provider
  readonly credentials: readonly CredentialEntry[]
}
export type ModelEntry = Standing & { readonly model: Model }

export type EncryptedCredential = { readonly providerId: string; readonly id: string; readonly ciphertext: string }
export type ReencryptedCredential = EncryptedCredential & { readonly before: string }
export type NewCredential = EncryptedCredential & { readonly last4: string }

export type NewProvider = {
  readonly provider: Provider
  readonly entered: string
  readonly active: boolean
  readonly credentials: readonly NewCredential[]
}
// A change of kind or address deletes the credentials: a secret is sent only where it was meant to go.
export type ProviderChange = {
  readonly provider: Provider
  readonly entered: string
  readonly active: boolean
  readonly basedOn: number
  // In place of the one before; null: without. Undefined: it stays.
  readonly proxyCredential?: NewCredential | null
}

export type ModelSave = {
  readonly model: DeclaredModel
  readonly entered: string
  readonly active: boolean
  // The version that this replaces; null creates a new entry.
  readonly basedOn: number | null
}
export type Unsaved = {
  readonly id: string
  // `name`: an id or alias of another model; `provider`: a target's provider does not exist.
  readonly refused: Stale | 'exists' | 'name' | 'provider' | 'unknown' | 'too_many'
  // The name or provider in question.
  readonly which: string
}
