// SIGHUP means two things: a supervisor or a person asks for a reload, or the terminal that the process was started at has closed.
// After the second nobody is there to stop the process, so it ends as by Ctrl-C.
import { isatty } from 'node:tty'

export function onHangUp(reload: () => void): void {
  const terminals = [0, 1, 2].filter(fd => isatty(fd))
  let isOver = false
  process.on('SIGHUP', () => {
    // The kernel and the shell may both send it: a second one must not hurry the drain.
    if (isOver) return
    // A terminal that has closed is one no longer.
    if (terminals.every(fd => isatty(fd))) return reload()
    isOver = true
    process.kill(process.pid, 'SIGINT')
  })
}
