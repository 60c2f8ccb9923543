// The key used by the playground, kept in memory until the page is reloaded.

let key = ''

export function rememberKey(secret: string): void {
  key = secret
}

export function rememberedKey(): string {
  return key
}
