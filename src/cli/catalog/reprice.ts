// Changes the prices of many models by a percentage: shows the old and the new ones, asks, and saves exactly what was shown.
import { BadUsage, type Input, type Option } from '../command.ts'
import type { Client, Json } from '../http-client.ts'
import { printJson, printTable } from '../output.ts'
import { confirm, isInteractive, YES_OPTION } from '../prompt.ts'
import { cell, priceText } from '../show.ts'

export const REPRICE_OPTIONS: Readonly<Record<string, Option>> = {
  model: { value: 'ID', multiple: true, about: 'only this model; repeatable (default: all that are not in the file)' },
  'dry-run': { about: 'print the new prices without saving them' },
  ...YES_OPTION,
}

export function checkReprice({ args: [percent = ''] }: Input): void {
  if (!/^[+-]?\d{1,4}(\.\d{1,2})?%?$/.test(percent))
    throw new BadUsage('PERCENT must be a number with at most two decimals, such as 10 or -2.5')
}

// Without a terminal nobody can be asked: then --yes saves, and without it the prices are only shown.
export async function repriceModels(input: Input, client: Client): Promise<number> {
  const percent = (input.args[0] ?? '').replace(/%$/, '')
  const chosen = input.texts('model')?.map(id => ({ id }))
  const models = chosen === undefined ? {} : { models: chosen }
  const preview = await client.call('POST', '/models/reprice', { percent, ...models, dry_run: true })
  const changed = (preview.data as readonly Json[]).filter(({ change }) => change === 'changed')
  const isDry = input.flag('dry-run') || (!input.flag('yes') && (input.json || !isInteractive()))
  if (!input.json) showChanges(preview.data as readonly Json[])
  if (isDry || changed.length === 0) return end(preview, changed.length, input)
  await confirm(`Change the prices of ${counted(changed.length)}?`, input)
  // With the versions of the preview, so that nothing is changed that was not shown.
  const order = { percent, models: changed.map(({ model, version }) => ({ id: model, version })) }
  const saved = await client.call('POST', '/models/reprice', order)
  if (input.json) printJson(saved)
  else process.stderr.write(`the prices of ${counted(changed.length)} were changed\n`)
  return 0
}

function end(preview: Json, changes: number, input: Input): number {
  if (input.json) printJson(preview)
  else if (changes === 0) process.stderr.write('no price changes\n')
  else
    process.stderr.write(
      `${counted(changes)}; nothing was saved${input.flag('dry-run') ? '' : ', pass --yes to save'}\n`,
    )
  return 0
}

function showChanges(rows: readonly Json[]): void {
  printTable(
    ['change', 'model', 'before', 'after', 'notes'],
    rows.map(({ change, model, before, after, notes }) =>
      [change, model, priceText(before), priceText(after), notes].map(cell),
    ),
  )
}

function counted(models: number): string {
  return models === 1 ? '1 model' : `${models} models`
}
