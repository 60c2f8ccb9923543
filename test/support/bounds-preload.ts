// Loaded into a gateway before everything else (--import): replaces numbers in its table of bounds, so that a minute of
// waiting becomes a second. Nothing else of the product is changed.
import { registerHooks } from 'node:module'

const wanted = Object.entries(JSON.parse(process.env.TEST_BOUNDS ?? '{}') as Record<string, number>)

// In the bundle it is a separate file, too.
const TABLE = /\/(?:src\/config\/limits\.ts|dist\/limits-[\w-]+\.js)$/

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    if (!TABLE.test(url)) return loaded
    let source = String(loaded.source)
    for (const [name, value] of wanted) {
      const line = new RegExp(`^\\s+${name}: [^,\\n]+`, 'm')
      if (!line.test(source)) throw new Error(`there is no bound ${name}`)
      source = source.replace(line, `  ${name}: ${value}`)
    }
    return { ...loaded, source }
  },
})
