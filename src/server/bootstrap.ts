// First start: an admin token, an account, and, without a configuration, credits and a key to try at once. Secrets are shown here
// once and stored only as hashes. See docs/decisions/catalog-ownership.md.
import { createHash, randomBytes } from 'node:crypto'
import type { AccountMethods } from '../admin/accounts.ts'
import type { KeyMethods } from '../admin/keys.ts'
import type { Config } from '../config/config.ts'
import type { Settings } from '../store/contract/operator.ts'
import type { Store } from '../store/contract/store.ts'

const ACTOR = { name: 'first start', address: 'local' }
const FIRST_KEY = 'first key'
const SHOWN = 'first_start_shown'

export type FirstStart = {
  readonly accountId: string
  readonly adminTokenHash: Buffer
  // The secrets to be shown, once.
  readonly made: { readonly adminToken: string | undefined; readonly secret: string | undefined }
  // Until this was called, each start creates its secrets again: none is in force that nobody has seen.
  shown(): Promise<void>
}

export type FirstStartNeeds = {
  readonly store: Store
  readonly accounts: AccountMethods
  readonly keys: KeyMethods
  readonly newId: () => string
}

export async function firstStart(config: Config, needs: FirstStartNeeds): Promise<FirstStart> {
  const { settings } = needs.store
  const isFirst = (await settings.get(SHOWN)) === undefined
  const accountId = await defaultAccount(isFirst, needs)
  const token = await adminToken(config, isFirst, settings)
  const secret = isFirst && config.catalog === undefined ? await firstCreditsAndKey(accountId, needs) : undefined
  return {
    accountId,
    adminTokenHash: token.hash,
    made: { adminToken: token.made, secret },
    shown: async () => {
      if (isFirst) await settings.set(SHOWN, 'yes')
    },
  }
}

// The token that the admin API accepts: the configured one, else the one created at the first start.
async function adminToken(
  config: Config,
  isFirst: boolean,
  settings: Settings,
): Promise<{ hash: Buffer; made: string | undefined }> {
  const stored = await settings.get('admin_token_hash')
  if (config.adminToken !== undefined) {
    const hash = digest(config.adminToken)
    if (stored !== hash.toString('hex')) await settings.set('admin_token_hash', hash.toString('hex'))
    return { hash, made: undefined }
  }
  if (stored !== undefined && !isFirst) return { hash: Buffer.from(stored, 'hex'), made: undefined }
  const made = `tpk_admin_${randomBytes(24).toString('base64url')}`
  await settings.set('admin_token_hash', digest(made).toString('hex'))
  return { hash: digest(made), made }
}

// The account for keys whose creation names none. Its id is stored first, so that an interrupted start finds it when it runs
// again.
async function defaultAccount(isFirst: boolean, { store, newId }: FirstStartNeeds): Promise<string> {
  const known = await store.settings.get('default_account')
  const id = known ?? `acct_${newId().replaceAll('-', '')}`
  if (known === undefined) await store.settings.set('default_account', id)
  // A new id has no account, and a start that was completed has created it. Only an interrupted one has to look, which on SQLite
  // starts a thread for reading.
  const exists = known !== undefined && (!isFirst || (await store.accounts.get(id)) !== undefined)
  if (!exists) await store.accounts.create({ id, name: 'default' }, ACTOR)
  return id
}

async function firstCreditsAndKey(accountId: string, { accounts, keys }: FirstStartNeeds): Promise<string> {
  await accounts.addCredits(accountId, { amount: '10', note: 'first start' }, 'first-start', ACTOR)
  const unseen = await keys.list({ accountId, q: FIRST_KEY, status: 'active', limit: 100 })
  for (const key of unseen.data) await keys.revoke(key.id, false, ACTOR)
  const key = await keys.create({ name: FIRST_KEY, account_id: accountId }, ACTOR)
  return key.secret
}

// `adminUrl` is where the command line finds the gateway, if anywhere.
export function welcome(
  at: { readonly url: string; readonly adminUrl: string | undefined },
  { accountId, made: { adminToken, secret } }: FirstStart,
  model: string,
  found: Config['detected']['found'],
): string {
  const url = reachable(at.url)
  const adminUrl = at.adminUrl === undefined ? undefined : reachable(at.adminUrl)
  const lines = ['', `Turnpike is ready at ${url}`, '']
  if (adminUrl !== undefined) lines.push(`  Dashboard    ${adminUrl}`)
  if (adminToken !== undefined) lines.push(`  Admin token  ${adminToken}`)
  if (secret !== undefined) lines.push(`  First key    ${secret}`)
  const both = adminToken !== undefined && secret !== undefined
  lines.push('', both ? 'These are shown only once, and stored only as hashes.' : 'This is shown only once.')
  if (adminToken !== undefined) lines.push(...wayBack(adminUrl), '')
  if (secret !== undefined)
    lines.push('Try it, as JSON or as a stream:', '', ...[false, true].map(stream => curl(url, secret, model, stream)))
  else if (adminUrl !== undefined && adminToken !== undefined)
    lines.push(
      'Create a key and add credits to its account, in this folder:',
      '',
      ...keyLines(adminUrl, adminToken, accountId),
    )
  for (const { variable, models } of found) lines.push('', `Found ${variable}: ${models.join(', ')}`)
  return `${lines.join('\n')}\n\n`
}

// A gateway that listens on all addresses, as in a container, is called on this machine's own.
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
}

function wayBack(adminUrl: string | undefined): readonly string[] {
  return [
    ...(adminUrl === undefined
      ? []
      : [`Keep the token for the command line, in this folder: npx turnpike login --url ${adminUrl}`]),
    'If it is lost, restart with TURNPIKE_ADMIN_TOKEN set to a new one; then create new keys.',
  ]
}

function keyLines(adminUrl: string, adminToken: string, accountId: string): readonly string[] {
  return [
    `  export TURNPIKE_URL=${adminUrl}`,
    `  export TURNPIKE_ADMIN_TOKEN=${adminToken}`,
    '  npx turnpike keys create first',
    `  npx turnpike credits add ${accountId} 10`,
  ]
}

function curl(url: string, secret: string, model: string, stream: boolean): string {
  const messages = [{ role: 'user', content: 'Hello' }]
  const body = JSON.stringify({ model, messages, ...(stream ? { stream } : {}) })
  return `  curl ${stream ? '-N ' : ''}${url}/v1/chat/completions -H 'Authorization: Bearer ${secret}' -H 'Content-Type: application/json' -d '${body}'`
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
