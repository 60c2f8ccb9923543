// The catalog in SQL: specs as JSON, prices as the snapshot text of usage rows, and the history of all prices.
import type { CatalogStore } from '../../contract/catalog.ts'
import type { Sql, Tx } from '../sql.ts'
import { readDisabledTargets, recordTest, setTargetDisabled } from './disabled-targets.ts'
import { addCredential, createProvider, deleteProvider, removeCredential, updateProvider } from './edit.ts'
import { deleteModel, saveModels } from './edit-models.ts'
import { provisioning } from './provision.ts'
import {
  listModels,
  listProviders,
  load,
  readCredentials,
  readModelById,
  readProviderById,
  stepRevision,
} from './rows.ts'

export function sqlCatalog(sql: Sql): CatalogStore {
  const alone = <T>(work: (tx: Tx) => Promise<T>) => sql.transaction(work, 'catalog')
  const changing = <T>(work: (tx: Tx) => Promise<T>) =>
    alone(async tx => {
      const done = await work(tx)
      await stepRevision(tx)
      return done
    })
  return {
    load: () => alone(load),
    provision: provisioning(sql),

    provider: id => readProviderById(sql, id),
    providers: page => listProviders(sql, page),
    createProvider: (input, max, actor) => changing(tx => createProvider(tx, input, max, actor)),
    updateProvider: (id, change, actor) => changing(tx => updateProvider(tx, id, change, actor)),
    deleteProvider: (id, basedOn, actor) => changing(tx => deleteProvider(tx, id, basedOn, actor)),
    addCredential: (credential, when, actor) => changing(tx => addCredential(tx, credential, when, actor)),
    removeCredential: (providerId, id, actor) => changing(tx => removeCredential(tx, providerId, id, actor)),
    credentials: () => readCredentials(sql),
    replaceCredentials: credentials =>
      alone(async tx => {
        for (const { providerId, id, ciphertext, before } of credentials) {
          const statement = 'UPDATE credential SET sealed = $1 WHERE provider_id = $2 AND id = $3 AND sealed = $4'
          await tx.run(statement, [ciphertext, providerId, id, before])
        }
      }),

    model: id => readModelById(sql, id),
    models: page => listModels(sql, page),
    saveModels: (saves, max, actor) => saveModels(sql, saves, max, actor),
    deleteModel: (id, basedOn, actor) => changing(tx => deleteModel(tx, id, basedOn, actor)),

    disabledTargets: providerId => readDisabledTargets(sql, providerId),
    setTargetDisabled: (target, disabled, max, actor) =>
      changing(tx => setTargetDisabled(tx, target, disabled, max, actor)),
    recordTest: (test, actor) => alone(tx => recordTest(tx, test, actor)),
  }
}
