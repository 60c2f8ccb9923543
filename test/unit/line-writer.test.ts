// The writer of log lines: it never blocks the caller, and counts the lines that it drops.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { lineWriter } from '../../src/telemetry/line-writer.ts'
import { temporaryFolder } from '../support/folder.ts'
import { until } from '../support/until.ts'

const LINE = `{"msg":"${'x'.repeat(1000)}"}\n`

test('lines that come faster than they can be written are dropped, and the next line reports their number', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'log')
  const fd = openSync(path, 'w')
  const writer = lineWriter(fd)
  const read = () => readFileSync(path, 'utf8')

  // In one go: nothing can be written in between, as if the reader were stopped.
  for (let i = 0; i < 2000; i++) writer.write(LINE)
  // The second buffer is in flight when more is queued than the first one takes to be sent.
  await until('the buffered lines are written', () => read().length > 256 * 1024)
  writer.write('{"msg":"last"}\n')
  await until('the last line is written', () => read().endsWith('{"msg":"last"}\n'))
  closeSync(fd)

  const said = read().trimEnd().split('\n')
  const kept = said.filter(line => `${line}\n` === LINE).length
  assert.ok(kept > 100 && kept < 1200, `${kept} lines kept`)
  assert.deepEqual(said.slice(kept), [
    `{"level":"warn","msg":"log lines dropped","lines":${2000 - kept}}`,
    '{"msg":"last"}',
  ])
})

test('each of several dropped lines is counted', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'log')
  const fd = openSync(path, 'w')
  const writer = lineWriter(fd)
  const three = Buffer.from(`${LINE.repeat(2)}${'x'.repeat(600 * 1024)}\n`)

  writer.write(Buffer.from('{"msg":"ü"}\n{"msg":"b"}\n'))
  writer.write(three)
  writer.write('{"msg":"last"}\n')
  await writer.end()
  closeSync(fd)

  const lost = '{"level":"warn","msg":"log lines dropped","lines":3}'
  assert.deepEqual(readFileSync(path, 'utf8').trimEnd().split('\n'), [
    '{"msg":"ü"}',
    '{"msg":"b"}',
    lost,
    '{"msg":"last"}',
  ])
})

test('the last lines reach a slow reader, and a stopped one does not delay the exit', async () => {
  await using folder = await temporaryFolder()
  const pipe = join(folder.path, 'log')
  execFileSync('mkfifo', [pipe])
  const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)
  fill(fd)
  const writer = lineWriter(fd)

  writer.write(LINE)
  const started = performance.now()
  writer.flush()
  const tookMs = performance.now() - started
  const reader = spawn('sh', ['-c', 'sleep 0.3; cat "$0"', pipe], { stdio: ['ignore', 'pipe', 'ignore'] })
  const said = text(reader.stdout)
  writer.write('{"msg":"last"}\n')
  writer.flush()
  closeSync(fd)

  assert.ok(tookMs < 3000, `${tookMs} ms`)
  assert.ok((await said).endsWith('.{"msg":"last"}\n'))
})

test('at the exit every line is in a pipe that was full, once and complete, in order', async () => {
  await using folder = await temporaryFolder()
  const pipe = join(folder.path, 'log')
  execFileSync('mkfifo', [pipe])
  const fd = openSync(pipe, constants.O_RDWR)
  const writer = lineWriter(fd)
  const lines = Array.from({ length: 500 }, (_, i) => `{"line":${i},"msg":"${'x'.repeat(1000)}"}`)

  for (const line of lines) writer.write(`${line}\n`)
  const reader = spawn('sh', ['-c', 'sleep 0.3; cat "$0"', pipe], { stdio: ['ignore', 'pipe', 'ignore'] })
  const said = text(reader.stdout)
  await writer.end()
  writer.flush()
  closeSync(fd)

  assert.deepEqual((await said).trimEnd().split('\n'), lines)
})

test('a stopped reader delays the exit by at most about a second', async () => {
  await using folder = await temporaryFolder()
  const pipe = join(folder.path, 'log')
  execFileSync('mkfifo', [pipe])
  const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)
  fill(fd)
  const writer = lineWriter(fd)

  for (let i = 0; i < 100; i++) writer.write(LINE)
  const started = performance.now()
  await writer.end()
  const tookMs = performance.now() - started
  closeSync(fd)

  assert.ok(tookMs > 900 && tookMs < 2500, `${tookMs} ms`)
})

test('a write in progress at an unexpected exit is not repeated', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'log')
  const fd = openSync(path, 'w')
  const writer = lineWriter(fd)
  const lines = Array.from({ length: 60 }, (_, i) => `{"line":${100 + i},"msg":"${'x'.repeat(1000)}"}`)

  // Half of them are in flight by now: their write cannot be cancelled.
  for (const line of lines) writer.write(`${line}\n`)
  writer.flush()
  await sleep(100)
  closeSync(fd)

  assert.deepEqual(readFileSync(path, 'utf8').trimEnd().split('\n').sort(), lines)
})

// Until the pipe is full.
function fill(fd: number): void {
  try {
    for (;;) writeSync(fd, '.'.repeat(1024))
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN')
  }
}
