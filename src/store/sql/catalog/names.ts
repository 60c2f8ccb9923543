// Names that a file declares for its models and that operators' models already have. A name belongs to one model: the operator's
// keeps it, since it is being called.
import type { DeclaredModel, NameClash } from '../../contract/catalog.ts'
import { int, type Row, text } from '../sql.ts'

export type FreeNames = { readonly models: readonly DeclaredModel[]; readonly clashes: readonly NameClash[] }

// The declared models without taken names: a taken alias is removed, a model whose id is taken is left out. A model declared
// under the operator's own id is not a conflict: the file takes it over.
export function withFreeNames(models: readonly DeclaredModel[], stored: ReadonlyMap<string, Row>): FreeNames {
  const declared = new Set(models.map(({ id }) => id))
  const owners = new Map<string, string>()
  for (const [id, row] of stored) {
    if (int(row.provisioned) === 1 || declared.has(id)) continue
    const { aliases } = JSON.parse(text(row.spec)) as DeclaredModel
    for (const name of [id, ...aliases]) owners.set(name, id)
  }
  const isFree = (name: string) => !owners.has(name)
  return {
    models: models
      .filter(({ id }) => isFree(id))
      .map(model => (model.aliases.every(isFree) ? model : { ...model, aliases: model.aliases.filter(isFree) })),
    clashes: models.flatMap(({ id, aliases }) =>
      [id, ...aliases].flatMap(name => (isFree(name) ? [] : [{ model: id, name, owner: owners.get(name) ?? '' }])),
    ),
  }
}
