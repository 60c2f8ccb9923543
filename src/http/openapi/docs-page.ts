// The page at /docs: loads the reference and its document from this gateway, and nothing from other hosts. The style hides a menu
// that leads to chat assistants elsewhere.

export function docsPage(script: string | undefined): string {
  const body =
    script === undefined
      ? '<p>The reference is not built here: <code>npm run build</code> builds it. The same as OpenAPI 3.1: <a href="/openapi.json">/openapi.json</a>.</p>'
      : `<noscript>This reference needs JavaScript. The same as OpenAPI 3.1: <a href="/openapi.json">/openapi.json</a>.</noscript>
<div id="reference"></div>
<script type="module" src="/docs/${script}"></script>`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>Turnpike API</title>
<style>[data-testid="page-actions"] { display: none }</style>
</head>
<body>
${body}
</body>
</html>
`
}
