// The key that the playground uses: in memory alone, gone with the page.

let key = ''

export function rememberKey(secret: string): void {
  key = secret
}

export function rememberedKey(): string {
  return key
}
