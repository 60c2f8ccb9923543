// SIGHUP has two meanings: a supervisor or a person requests a reload, or the terminal that started the process has closed. After
// the second nobody can stop the process, so it ends as by Ctrl-C.
import { isatty } from 'node:tty'

export function onHangUp(reload: () => void): void {
  const terminals = [0, 1, 2].filter(fd => isatty(fd))
  let isOver = false
  process.on('SIGHUP', () => {
    // The kernel and the shell may both send it: a second one must not hurry the drain.
    if (isOver) return
    // A closed terminal is no longer a TTY.
    if (terminals.every(fd => isatty(fd))) return reload()
    isOver = true
    process.kill(process.pid, 'SIGINT')
  })
}
