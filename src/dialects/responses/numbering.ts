// The events of one stream as text, numbered from 0.

export type Numbering = {
  // An event whose fields are JSON, with the next number.
  write(type: string, fields: string): string
  // A provider's own event, on one line. Only the number is written again, if it is not the next.
  pass(type: string, sequence: unknown, line: string): string
}

export function numbering(): Numbering {
  let next = 0

  function write(type: string, fields: string): string {
    const more = fields === '' ? '' : `,${fields}`
    return `event: ${type}\ndata: {"type":${JSON.stringify(type)},"sequence_number":${next++}${more}}\n\n`
  }

  return {
    write,
    pass(type, sequence, line) {
      if (sequence === next) {
        next += 1
        return `event: ${type}\ndata: ${line}\n\n`
      }
      const { type: _, sequence_number: __, ...fields } = JSON.parse(line) as Record<string, unknown>
      return write(type, JSON.stringify(fields).slice(1, -1))
    },
  }
}
