// Names of the code as the configuration file and the wire spell them: `baseUrl` is `base_url`.
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}
