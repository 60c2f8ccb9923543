// Starts a worker thread with the compile cache: a thread does not inherit it, and without it Node loads its TypeScript compiler
// there, which costs 150 ms and 35 MB per thread. See docs/performance.md.
import { getCompileCacheDir } from 'node:module'
import { Worker, workerData } from 'node:worker_threads'

export type ThreadBounds = {
  // A thread's objects are short-lived: a small young generation keeps it small.
  readonly youngMb: number
  readonly oldMb?: number
}

// `module` is a file in the folder of `from`, without its extension: `.ts` in a checkout, `.js` in the published package.
export function startThread(module: string, from: string, data: unknown, bounds: ThreadBounds): Worker {
  const url = new URL(module + (from.endsWith('.ts') ? '.ts' : '.js'), from).href
  return new Worker(BOOT, {
    eval: true,
    env: {},
    execArgv: [],
    workerData: { cache: getCompileCacheDir(), url, data },
    resourceLimits: {
      maxYoungGenerationSizeMb: bounds.youngMb,
      ...(bounds.oldMb === undefined ? {} : { maxOldGenerationSizeMb: bounds.oldMb }),
    },
  })
}

// Inside such a thread: the data it was started with.
export function threadData<T>(): T {
  return (workerData as { readonly data: T }).data
}

const BOOT = `
const { cache, url } = require('node:worker_threads').workerData
if (cache !== undefined) require('node:module').enableCompileCache(cache)
import(url)
`
