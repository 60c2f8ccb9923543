// The catalog in SQL: specs as JSON, prices as the snapshot text that rows bear, and every price there ever was.
import type { CatalogStore } from '../contract-catalog.ts'
import { addCredential, createProvider, deleteProvider, removeCredential, updateProvider } from './catalog-edit.ts'
import { deleteModel, saveModels } from './catalog-edit-models.ts'
import { provisioning } from './catalog-provision.ts'
import { listModels, listProviders, load, readModelById, readProviderById, readSealed } from './catalog-rows.ts'
import type { Sql, Tx } from './sql.ts'

export function sqlCatalog(sql: Sql): CatalogStore {
  const alone = <T>(work: (tx: Tx) => Promise<T>) => sql.transaction(work, 'catalog')
  return {
    load: () => alone(load),
    provision: provisioning(sql),

    provider: id => readProviderById(sql, id),
    providers: page => listProviders(sql, page),
    createProvider: (input, max, actor) => alone(tx => createProvider(tx, input, max, actor)),
    updateProvider: (id, change, actor) => alone(tx => updateProvider(tx, id, change, actor)),
    deleteProvider: (id, basedOn, actor) => alone(tx => deleteProvider(tx, id, basedOn, actor)),
    addCredential: (credential, when, actor) => alone(tx => addCredential(tx, credential, when, actor)),
    removeCredential: (providerId, id, actor) => alone(tx => removeCredential(tx, providerId, id, actor)),
    sealed: () => readSealed(sql),
    reseal: credentials =>
      alone(async tx => {
        for (const { providerId, id, sealed } of credentials) {
          await tx.run('UPDATE credential SET sealed = $1 WHERE provider_id = $2 AND id = $3', [sealed, providerId, id])
        }
      }),

    model: id => readModelById(sql, id),
    models: page => listModels(sql, page),
    saveModels: (saves, max, actor) => saveModels(sql, saves, max, actor),
    deleteModel: (id, basedOn, actor) => alone(tx => deleteModel(tx, id, basedOn, actor)),
  }
}
