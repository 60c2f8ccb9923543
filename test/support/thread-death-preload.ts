// Loaded into a gateway before everything else (--import): ends the thread named by a file in the data dir, as if it
// had run out of memory. Nothing else of the product is changed.
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'

let threads = 0
process.on('worker', worker => {
  threads += 1
  const wish = join(process.env.TURNPIKE_DATA_DIR ?? '', `death-of-thread-${threads}`)
  const looking = setInterval(() => {
    if (!existsSync(wish)) return
    clearInterval(looking)
    rmSync(wish)
    void worker.terminate()
  }, 10)
  looking.unref()
})
