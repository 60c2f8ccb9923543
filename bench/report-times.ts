// How long the reports of a gateway on a seeded database take, each requested once as a warm-up and then five times: the median,
// slowest first.
// Prints its results to stdout. A command of the repository, not a part of the server, which writes to its log alone.
import { DAY_MS } from '../src/domain/key.ts'

const TIMES = 5
const USAGE = '/admin/v1/usage'
const SUMMARY = `${USAGE}/summary`

export async function measureReports(base: string, token: string): Promise<void> {
  const ask: Ask = async path => {
    const response = await fetch(new URL(path, base), { headers: { authorization: `Bearer ${token}` } })
    if (!response.ok) throw new Error(`${path}: ${response.status}`)
    return response
  }
  const found: { readonly path: string; readonly ms: number }[] = []
  for (const path of reportPaths(await deepCursor(ask))) found.push({ path, ms: await medianMs(path, ask) })
  found.sort((a, b) => b.ms - a.ms)
  for (const { path, ms } of found) console.log(`${String(Math.round(ms)).padStart(6)} ms  ${path}`)
}

type Ask = (path: string) => Promise<Response>

async function medianMs(path: string, ask: Ask): Promise<number> {
  const times: number[] = []
  await firstPiece(await ask(path))
  for (let i = 0; i < TIMES; i++) {
    const start = performance.now()
    await firstPiece(await ask(path))
    times.push(performance.now() - start)
  }
  return times.sort((a, b) => a - b)[TIMES >> 1] ?? 0
}

// The length of a CSV depends on its rows; the time to its first byte is what a person waits for.
async function firstPiece(response: Response): Promise<void> {
  if (response.headers.get('content-type')?.startsWith('text/csv')) {
    const reader = response.body?.getReader()
    await reader?.read()
    await reader?.cancel()
  } else await response.arrayBuffer()
}

// The id of a row in the middle of ninety days.
async function deepCursor(ask: Ask): Promise<string> {
  const page = (await (await ask(`${USAGE}?limit=1&to=${ago(45)}`)).json()) as { data: { request_id: string }[] }
  return page.data[0]?.request_id ?? ''
}

function reportPaths(middle: string): readonly string[] {
  const spans = [
    `from=${ago(1)}`,
    `from=${ago(7)}`,
    `from=${ago(30)}&step=hour`,
    `from=${ago(41)}&step=hour`,
    `from=${ago(30)}`,
    `from=${ago(90)}`,
    `from=${ago(365)}`,
    `from=${ago(60.3)}&to=${ago(20.7)}&step=hour`,
  ]
  const filters = [
    '',
    'key_id=key_seed0001',
    'account_id=acct_seed0001',
    'model=acme/large',
    'model=nobody/1',
    'provider=spare',
    'outcome=recovered',
    'endpoint=all',
    `from=${ago(60.3)}&to=${ago(20.7)}`,
  ]
  const rare = [
    'model=cedar/short&outcome=recovered',
    'model=cedar/short&outcome=client_left',
    'model=nobody/1&key_id=key_seed0001',
    'model=nobody/1&account_id=acct_seed0001',
    `model=nobody/1&after=${middle}`,
    'model=nobody/1&outcome=refused',
    'model=nobody/1&endpoint=all',
    'model=acme/large&provider=bolt',
    'key_id=key_nobody',
    'account_id=acct_nobody',
    'provider=nobody',
    'endpoint=usage',
    'outcome=upstream_broke',
    'key_id=key_seed0038&outcome=recovered',
    'key_id=key_seed0000&outcome=recovered',
    'key_id=key_seed0038&model=demo/echo&outcome=client_left',
    'account_id=acct_seed0011&model=demo/echo',
    'account_id=acct_seed0011&provider=spare',
    'key_id=key_seed0001&account_id=acct_seed0002',
    `after=${middle}`,
    `outcome=refused&after=${middle}`,
    `provider=spare&after=${middle}`,
    `outcome=recovered&from=${ago(60.3)}&to=${ago(20.7)}`,
  ]
  return [
    ...spans.map(span => `/admin/v1/overview?${span}`),
    ...['day', 'hour', 'model', 'provider', 'key', 'account'].flatMap(group =>
      filters.map(filter => `${SUMMARY}?group_by=${group}&${filter}`),
    ),
    ...[...filters, ...rare].flatMap(filter => [`${USAGE}?${filter}`, `${USAGE}?limit=1000&${filter}`]),
    `${USAGE}?sort=cost&from=${ago(7)}`,
    `${USAGE}?sort=cost&from=${ago(30)}&key_id=key_seed0001`,
    `${SUMMARY}?group_by=day&error_code=insufficient_credits&from=${ago(7)}`,
    ...['', 'outcome=recovered', 'model=nobody/1'].map(filter => `${USAGE}?format=csv&${filter}`),
  ]
}

function ago(days: number): string {
  return new Date(Date.now() - days * DAY_MS).toISOString()
}
