// JSON whose integers past 2⁵³ keep their digits: they are parsed to raw JSON, which is written again as it was read.

type WithRaw = typeof JSON & { rawJSON(text: string): object; isRawJSON(value: unknown): boolean }
type Reviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown

export function parseKeepingDigits(text: string): unknown {
  return JSON.parse(text, keepDigits as (name: string, value: unknown) => unknown)
}

export function isRawJson(value: unknown): boolean {
  return (JSON as WithRaw).isRawJSON(value)
}

const keepDigits: Reviver = (_name, value, { source }) =>
  source !== undefined && Number.isInteger(value) && !Number.isSafeInteger(value)
    ? (JSON as WithRaw).rawJSON(source)
    : value
