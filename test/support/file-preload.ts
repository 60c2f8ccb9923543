// Loaded before every test file. A test that timed out is not stopped: whatever it waits for keeps the file's process
// alive, and the run would never end. At its end the file reports its processor time.
import { readFileSync, writeSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const FILE_MS_MAX = 600_000

const timer = setTimeout(() => {
  process.stderr.write(`the file was ended after ${FILE_MS_MAX / 1000} s: something in it keeps its process alive\n`)
  process.exit(1)
}, FILE_MS_MAX)
timer.unref()

// A thread loads this file too, and ends before the process.
process.once('exit', () => {
  if (isMainThread && process.platform === 'linux') writeSync(2, `\ncpu seconds ${cpuSeconds()}\n`)
})

// User and system time of this process and of its ended children, in hundredths of a second: see proc(5).
function cpuSeconds(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100
}
