// Converts names of the code to the configuration file and the API: `baseUrl` becomes `base_url`.
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}
