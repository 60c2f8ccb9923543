// Loaded before every test file. A test that timed out is not stopped: whatever it waits for keeps the file's process
// alive, and the run would never end.
const FILE_MS_MAX = 600_000

const timer = setTimeout(() => {
  process.stderr.write(`the file was ended after ${FILE_MS_MAX / 1000} s: something in it keeps its process alive\n`)
  process.exit(1)
}, FILE_MS_MAX)
timer.unref()
