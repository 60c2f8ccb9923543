// The events of one stream as text, numbered from 0.

// Writes an event whose fields are JSON, with the next number.
export type Numbering = (type: string, fields: string) => string

export function numbering(): Numbering {
  let next = 0
  return (type, fields) =>
    `event: ${type}\ndata: {"type":${JSON.stringify(type)},"sequence_number":${next++}${fields === '' ? '' : `,${fields}`}}\n\n`
}
