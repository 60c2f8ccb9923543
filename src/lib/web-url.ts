// The URL of a web address without a user name or password; undefined if the text is anything else.
export function webUrl(text: string): URL | undefined {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '' ? url : undefined
}
