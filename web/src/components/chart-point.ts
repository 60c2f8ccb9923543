// A point of a chart: a time, and its figures by name.
export type Point = { readonly at: string; readonly [figure: string]: string | number | null }
