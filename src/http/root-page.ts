// The page at `/` where the dashboard is not built: what this server is and where to go.

export function rootPage(): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Turnpike</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif }
  body { max-width: 38rem; margin: 12vh auto; padding: 0 1.25rem }
  h1 { font-size: 1.6rem; letter-spacing: -.01em } code { font-size: .95em }
  a { color: inherit }
</style>
<h1>Turnpike is running</h1>
<p>This gateway accepts OpenAI chat requests at <code>/v1/chat/completions</code>, routes each to a provider, and
bills it exactly.</p>
<p>The dashboard is not built. Run <code>npm run build</code> in the checkout to build it. Also available:</p>
<ul>
  <li><a href="/docs">API reference</a> and <a href="/openapi.json">OpenAPI document</a></li>
  <li>the command <code>turnpike --help</code> for keys, credits and usage</li>
  <li><a href="/health">/health</a>, <a href="/ready">/ready</a>, <a href="/metrics">/metrics</a></li>
</ul>
</html>
`
}
