// Preloaded into a gateway: makes one package look as if it were not installed.
import { registerHooks } from 'node:module'

registerHooks({
  resolve(specifier, context, next) {
    if (specifier.startsWith('@ai-sdk/cohere')) {
      throw Object.assign(new Error(`Cannot find package '${specifier}'`), { code: 'ERR_MODULE_NOT_FOUND' })
    }
    return next(specifier, context)
  },
})
