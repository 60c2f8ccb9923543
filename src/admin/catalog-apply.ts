// The admin operation that reads the configuration file again: its catalog is in force at once, or nothing changes if the file is
// bad.
import type { CatalogChange } from '../store/contract/catalog.ts'
import type { Actor } from '../store/contract/operator.ts'

export type ApplyObject = {
  readonly object: 'catalog_apply'
  readonly dry_run: boolean
  readonly changes: readonly CatalogChange[]
  // Settings of the file that differ and are only read at start.
  readonly at_next_start: readonly string[]
}

export type ApplyMethod = (dryRun: boolean, actor: Actor) => Promise<ApplyObject>

export type ApplyNeeds = {
  // Throws a refusal with the message of the file's reader.
  apply(
    dryRun: boolean,
    actor: Actor,
  ): Promise<{ readonly changes: readonly CatalogChange[]; readonly atNextStart: readonly string[] }>
}

export function applyMethod({ apply }: ApplyNeeds): ApplyMethod {
  return async (dryRun, actor) => {
    const { changes, atNextStart } = await apply(dryRun, actor)
    return { object: 'catalog_apply', dry_run: dryRun, changes, at_next_start: atNextStart }
  }
}
