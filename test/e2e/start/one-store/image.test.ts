// The image of the Dockerfile: it is built, `docker run` starts it as it is documented, it serves a chat and drains when it is
// stopped. The first stage, which only packs, is replaced by the package that the tests pack.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { containerEngine, type Engine } from '../../../support/container-engine.ts'
import { ROOT, runTool } from '../../../support/deploy-tools.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { freePort } from '../../../support/free-port.ts'
import { httpCall } from '../../../support/http-call.ts'
import { pack } from '../../../support/packed.ts'
import { until } from '../../../support/until.ts'

const IMAGE = 'localhost/turnpike'
const CONTAINER = 'turnpike'

const BASE = `docker.io/library/${/^FROM (\S+)$/m.exec(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'))?.[1]}`

const folder = await temporaryFolder()
const engine = containerEngine(folder.path, BASE)
after(async () => {
  if (typeof engine !== 'string') {
    engine.podman('rm', '--all', '--force', '--time', '0')
    engine.podman('rmi', '--all', '--force')
    engine.podman('unmount', '--all')
  }
  await folder[Symbol.asyncDispose]()
})
const skip = typeof engine === 'string' ? engine : false
if (skip !== false) process.stderr.write(`\n${skip}: THE IMAGE IS NOT TESTED\n\n`)

test('the image is built, starts, serves a chat and drains', { skip }, async t => {
  assert.ok(typeof engine !== 'string')
  await t.test('it is built from the Dockerfile', () => build(engine, folder.path))
  await t.test('it runs without root and with a read-only file system', () => serve(engine))
})

async function build({ podman, limits, npm }: Engine, path: string): Promise<void> {
  const context = join(path, 'context')
  mkdirSync(join(context, 'package'), { recursive: true })
  const { code, output } = runTool('tar', [
    '-xzf',
    await pack(path),
    '-C',
    join(context, 'package'),
    '--strip-components=1',
  ])
  assert.equal(code, 0, output)
  const options = ['--format', 'docker', '--pull=never', '--layers=false', '--build-context', `package=${context}`]
  // Without the packages of other providers, which take a third of the time.
  const less = ['--build-arg', 'WIRES=']
  podman('build', ...options, ...less, ...limits, ...npm, '-t', IMAGE, '.')
}

async function serve({ podman, limits }: Engine): Promise<void> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const env = ['-e', `TURNPIKE_PORT=${port}`, '-e', 'TURNPIKE_DETECT_PROVIDERS=0']
  const data = ['-v', 'turnpike:/data', '--read-only', '--tmpfs', '/tmp']
  podman('run', '-d', '--name', CONTAINER, '--stop-timeout', '170', ...limits, ...env, ...data, IMAGE)
  const ready = () =>
    httpCall(`${url}/ready`).then(
      ({ status }) => status === 200,
      () => false,
    )
  await until('it is ready', ready, 60_000)

  assert.ok(podman('logs', CONTAINER).includes(`Turnpike is ready at ${url}\n`))
  const [, key] = /First key +(\S+)/.exec(podman('logs', CONTAINER)) ?? []
  const [, token] = /Admin token +(\S+)/.exec(podman('logs', CONTAINER)) ?? []
  const answer = await httpCall(`${url}/v1/chat/completions`, {
    body: { model: 'demo/echo', messages: [{ role: 'user', content: 'Hello' }] },
    headers: { authorization: `Bearer ${key}` },
  })
  const page = await httpCall(url)
  const inside = ['-e', `TURNPIKE_URL=${url}`, '-e', `TURNPIKE_ADMIN_TOKEN=${token}`]
  const listed = podman('exec', ...inside, CONTAINER, 'turnpike', 'keys', 'list', '--columns', 'name')
  const user = podman('exec', CONTAINER, 'id', '-u')
  const health = podman('inspect', CONTAINER, '--format', '{{json .Config.Healthcheck}}')
  podman('stop', CONTAINER)

  assert.equal(answer.status, 200, answer.text)
  assert.match(page.text, /\/assets\/index-/)
  assert.equal(listed, 'name\nfirst key\n')
  assert.equal(user.trim(), '1000')
  assert.match(health, /\/health/)
  assert.equal(podman('inspect', CONTAINER, '--format', '{{.State.ExitCode}}').trim(), '0')
  assert.match(podman('logs', CONTAINER), /"msg":"(?:drained|stopped)[^"]*"/)
}
