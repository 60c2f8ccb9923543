// The address of an HTTP proxy as operators write it: http:// or https://, with or without user and password.

export const PROXY_RULE = 'the http:// or https:// address of a proxy, with or without user and password'

// Undefined for what is no address of a proxy. Nothing of it is ever repeated: it may hold a password.
export function proxyAddress(text: string): string | undefined {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search + url.hash !== '')
    return undefined
  try {
    decodeURIComponent(url.username + url.password)
    return url.href
  } catch {
    return undefined
  }
}
