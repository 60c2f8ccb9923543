// Runs the real gateway as a separate process on a temporary data dir, and calls it as operator and as client.
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { runProcess, type ServerProcess, startProcess } from './gateway-process.ts'
import { type Answer, httpCall, type Loose } from './http-call.ts'
import { freshSchema, type Schema } from './postgres.ts'
import { openStream, type SseStream } from './sse.ts'

export { standardConfig } from './standard-config.ts'

export const ADMIN_TOKEN = 'test-admin-token-0123456789abcdef0123456789abcdef'

export const ENCRYPTION_KEY = 'ab'.repeat(32)

export type GatewayOptions = {
  // Written as turnpike.yaml; without it the gateway starts in demo mode.
  readonly config?: object
  // Overrides the default environment; undefined removes a variable.
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly nodeArgs?: readonly string[]
  // Where it is installed; this tree by default.
  readonly installed?: string
  readonly port?: number
  readonly dataDir?: string
  readonly readyTimeoutMs?: number
  readonly awaitReady?: boolean
  // The limit of open files and sockets.
  readonly descriptorsMax?: number
}

export type ChatOptions = {
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly stream?: boolean
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

export type NewKey = { readonly id: string; readonly secret: string; readonly accountId: string; readonly key: Loose }

export type KeyOverrides = Readonly<Record<string, unknown>> & {
  readonly account_id?: string
  // The credits of a new account if no account_id is given; 100 by default.
  readonly credits?: string
}

export type Gateway = {
  readonly url: string
  readonly port: number
  readonly pid: number
  readonly adminToken: string
  readonly dataDir: string
  readonly configFile: string
  // The environment in which a command finds the store.
  readonly storeEnv: Readonly<Record<string, string | undefined>>
  // Everything in the store as one text; best read when the gateway has stopped.
  stored(): Promise<string>
  // Every line of stdout and stderr since the first start, and those of them that are JSON objects.
  readonly lines: readonly string[]
  readonly logs: readonly Loose[]
  // Resolves when the current process has ended, with its exit code, or null after a signal.
  readonly exited: Promise<number | null>
  // '/keys' means '/admin/v1/keys'.
  admin<Body = Loose>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer<Body>>
  // Missing fields of the body get defaults (test/m1, one message); without a key one is created and reused.
  chat<Body = Loose>(body?: object, options?: ChatOptions): Promise<Answer<Body>>
  openChat(body?: object, options?: ChatOptions): Promise<SseStream>
  get<Body = Loose>(path: string, key?: string, headers?: Readonly<Record<string, string>>): Promise<Answer<Body>>
  createKey(overrides?: KeyOverrides): Promise<NewKey>
  createAccount(fields?: Readonly<Record<string, unknown>>): Promise<{ readonly id: string; readonly account: Loose }>
  addCredits(accountId: string, amount: string): Promise<Loose>
  writeConfig(config: object): Promise<void>
  signal(name: NodeJS.Signals): void
  // SIGTERM, a second one at once if `hurry`, SIGKILL after the timeout. Returns the exit code.
  stop(options?: { readonly hurry?: boolean; readonly timeoutMs?: number }): Promise<number | null>
  kill(): Promise<void>
  // `changes` stay in the environment.
  restart(changes?: Readonly<Record<string, string | undefined>>): Promise<void>
  audit(): Promise<{ readonly ok: boolean; readonly output: unknown }>
  [Symbol.asyncDispose](): Promise<void>
}

export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const dir = await mkdtemp(join(tmpdir(), 'turnpike-test-'))
  const dataDir = options.dataDir ?? join(dir, 'data')
  const configFile = join(dir, 'turnpike.yaml')
  const port = options.port ?? (await freePort())
  const url = `http://127.0.0.1:${port}`
  const lines: string[] = []
  // The same tests run on either store; those about the embedded one name its folder or its own database.
  const isShared = process.env.TEST_STORE === 'shared' && !options.dataDir && !options.env?.DATABASE_URL
  const schema = isShared ? await freshSchema() : undefined
  const env = {
    TURNPIKE_HOST: '127.0.0.1',
    TURNPIKE_PORT: String(port),
    TURNPIKE_DATA_DIR: dataDir,
    ...(options.config === undefined ? {} : { TURNPIKE_CONFIG: configFile }),
    TURNPIKE_ADMIN_TOKEN: ADMIN_TOKEN,
    TURNPIKE_DETECT_PROVIDERS: '0',
    DATABASE_URL: undefined,
    ...(schema === undefined ? {} : sharedStore(schema)),
    ...options.env,
  }
  const start = () =>
    startProcess({
      cwd: dir,
      env,
      nodeArgs: options.nodeArgs ?? [],
      installed: options.installed,
      descriptorsMax: options.descriptorsMax,
      readyUrl: options.awaitReady === false ? undefined : `${url}/ready`,
      readyTimeoutMs: options.readyTimeoutMs ?? 60_000,
      lines,
    })
  // JSON is YAML too, and needs no package in each test process.
  const writeConfig = (config: object) => writeFile(configFile, JSON.stringify(config, null, 2))

  if (options.config !== undefined) await writeConfig(options.config)
  let server: ServerProcess
  try {
    server = await start()
  } catch (error) {
    await rm(dir, { recursive: true, force: true })
    await schema?.[Symbol.asyncDispose]()
    throw error
  }
  let ownKey: Promise<NewKey> | undefined

  async function admin<Body = Loose>(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer<Body>> {
    const target = path.startsWith('/admin/') ? path : `/admin/v1${path}`
    return httpCall<Body>(url + target, {
      method,
      body,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, ...headers },
    })
  }

  async function must(status: number, call: Promise<Answer>): Promise<Loose> {
    const answer = await call
    if (answer.status !== status) throw new Error(`admin call returned ${answer.status}, not ${status}: ${answer.text}`)
    return answer.body
  }

  async function createAccount(fields: Readonly<Record<string, unknown>> = {}) {
    const account = await must(201, admin('POST', '/accounts', { name: 'test', ...fields }))
    return { id: String(account.id), account }
  }

  async function addCredits(accountId: string, amount: string): Promise<Loose> {
    const once = { 'idempotency-key': crypto.randomUUID() }
    return must(201, admin('POST', `/accounts/${accountId}/credits`, { amount }, once))
  }

  async function createKey(overrides: KeyOverrides = {}): Promise<NewKey> {
    const { account_id, credits = '100', ...fields } = overrides
    const accountId = account_id ?? (await createAccount()).id
    if (account_id === undefined && Number(credits) > 0) await addCredits(accountId, credits)
    const key = await must(201, admin('POST', '/keys', { name: 'test', account_id: accountId, ...fields }))
    return { id: String(key.id), secret: String(key.secret), accountId, key }
  }

  async function secretFor(key: string | undefined): Promise<string> {
    if (key !== undefined) return key
    ownKey ??= createKey({ credits: '1000', rpm_limit: 1_000_000, daily_limit: null })
    return (await ownKey).secret
  }

  async function stop({ hurry = false, timeoutMs = 15_000 } = {}): Promise<number | null> {
    server.signal('SIGTERM')
    const again = hurry ? setInterval(() => server.signal('SIGTERM'), 100) : undefined
    const killer = setTimeout(() => server.signal('SIGKILL'), timeoutMs)
    const code = await server.exited
    clearInterval(again)
    clearTimeout(killer)
    return code
  }

  async function kill(): Promise<void> {
    server.signal('SIGKILL')
    await server.exited
  }

  return {
    url,
    port,
    get pid() {
      return server.pid
    },
    adminToken: ADMIN_TOKEN,
    dataDir,
    configFile,
    storeEnv: { TURNPIKE_DATA_DIR: dataDir, DATABASE_URL: env.DATABASE_URL },
    stored: () => (schema === undefined ? filesIn(dataDir) : schema.dump()),
    lines,
    get logs() {
      return lines.flatMap(parseLog)
    },
    get exited() {
      return server.exited
    },
    admin,
    async chat<Body = Loose>(body: object = {}, options: ChatOptions = {}) {
      const headers = { authorization: `Bearer ${await secretFor(options.key)}`, ...options.headers }
      const { signal, timeoutMs } = options
      return httpCall<Body>(`${url}/v1/chat/completions`, {
        body: filledChat(body, options.stream),
        headers,
        ...(signal === undefined ? {} : { signal }),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      })
    },
    async openChat(body = {}, options = {}) {
      const key = await secretFor(options.key)
      const call = { body: filledChat(body, options.stream ?? true), key, headers: options.headers ?? {} }
      return openStream(`${url}/v1/chat/completions`, call)
    },
    async get<Body = Loose>(path: string, key?: string, headers: Readonly<Record<string, string>> = {}) {
      const authorization: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` }
      return httpCall<Body>(url + path, { headers: { ...authorization, ...headers } })
    },
    createKey,
    createAccount,
    addCredits,
    writeConfig,
    signal: name => server.signal(name),
    stop,
    kill,
    async restart(changes = {}) {
      await stop({ hurry: true })
      Object.assign(env, changes)
      server = await start()
    },
    async audit() {
      const { code, stdout, stderr } = await runProcess(['audit', '--json'], dir, env)
      return { ok: code === 0, output: parseOrText(stdout === '' ? stderr : stdout) }
    },
    async [Symbol.asyncDispose]() {
      await stop({ hurry: true, timeoutMs: 5000 })
      await rm(dir, { recursive: true, force: true })
      await schema?.[Symbol.asyncDispose]()
    },
  }
}

function sharedStore({ url }: Schema): Readonly<Record<string, string | undefined>> {
  return { DATABASE_URL: url, REDIS_URL: process.env.REDIS_URL, TURNPIKE_ENCRYPTION_KEY: ENCRYPTION_KEY }
}

async function filesIn(dir: string): Promise<string> {
  const files = (await readdir(dir)).map(name => readFile(join(dir, name), 'latin1'))
  return (await Promise.all(files)).join('\n')
}

function filledChat(body: object, stream: boolean | undefined): object {
  const messages = [{ role: 'user', content: 'Say hello' }]
  return { model: 'test/m1', messages, ...(stream === undefined ? {} : { stream }), ...body }
}

function parseLog(line: string): Loose[] {
  const value = parseOrText(line)
  return typeof value === 'object' && value !== null ? [value as Loose] : []
}

function parseOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
