// The header lines of a request, as they are written to the wire.

// Whatever its source, a header stays one line.
export function headerLines(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => {
      if (/[^!#$%&'*+.^_`|~0-9A-Za-z-]/.test(name) || /[^\t\x20-\x7e]/.test(value))
        throw new Error(`the header ${name.slice(0, 64)} holds an odd character`)
      return `${name}: ${value}\r\n`
    })
    .join('')
}
