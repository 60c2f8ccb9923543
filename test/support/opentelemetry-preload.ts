// Preloaded into a gateway: prints a line when it loads a package of OpenTelemetry's SDK. Its small API is a dependency of the
// Prometheus client, and loaded with that.
import { writeSync } from 'node:fs'
import { registerHooks } from 'node:module'

registerHooks({
  resolve(specifier, context, next) {
    if (/^@opentelemetry\/(?!api$)/.test(specifier)) writeSync(1, `loaded ${specifier}\n`)
    return next(specifier, context)
  },
})
