// What a first start makes: an admin token, an account, and, where nobody configured anything, credits and a key to try
// at once. Secrets are shown here once and kept only as hashes.
import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AccountVerbs } from './admin/accounts.ts'
import type { KeyVerbs } from './admin/keys.ts'
import { BadConfig, type Config } from './config.ts'
import { TIMEOUTS } from './config-bounds.ts'
import type { DeclaredCatalog, Settings, Store } from './store/contract.ts'

const ACTOR = { name: 'first start', address: 'local' }
export const DEMO_MODEL = 'demo/echo'

export type FirstStart = { readonly adminToken: string | undefined; readonly secret: string | undefined }

// Whose token the admin API takes: the configured one, else the one that was made at the first start.
export async function adminToken(
  config: Config,
  settings: Settings,
): Promise<{ hash: Buffer; made: string | undefined }> {
  const stored = await settings.get('admin_token_hash')
  if (config.adminToken !== undefined) {
    const hash = digest(config.adminToken)
    if (stored !== hash.toString('hex')) await settings.set('admin_token_hash', hash.toString('hex'))
    return { hash, made: undefined }
  }
  if (stored !== undefined) return { hash: Buffer.from(stored, 'hex'), made: undefined }
  const made = `tpk_admin_${randomBytes(24).toString('base64url')}`
  await settings.set('admin_token_hash', digest(made).toString('hex'))
  return { hash: digest(made), made }
}

// The account that keys go to when their creation names none.
export async function defaultAccount(store: Store, accounts: AccountVerbs): Promise<{ id: string; made: boolean }> {
  const known = await store.settings.get('default_account')
  if (known !== undefined) return { id: known, made: false }
  const account = await accounts.create({ name: 'default' }, ACTOR)
  await store.settings.set('default_account', account.id)
  return { id: account.id, made: true }
}

export async function firstCreditsAndKey(accountId: string, accounts: AccountVerbs, keys: KeyVerbs): Promise<string> {
  await accounts.addCredits(accountId, { amount: '10', note: 'first start' }, 'first-start', ACTOR)
  const key = await keys.create({ name: 'first key', account_id: accountId }, ACTOR)
  return key.secret
}

// 32 bytes that stay the same over restarts: from the environment, else from a file that only we may read.
export function installationKey(config: Config): Buffer {
  if (config.encryptionKey !== undefined) return Buffer.from(config.encryptionKey, 'hex')
  const path = join(config.dataDir, 'encryption.key')
  if (!existsSync(path)) {
    writeFileSync(path, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flag: 'wx' })
    chmodSync(path, 0o600)
  }
  const text = readFileSync(path, 'utf8').trim()
  if (!/^[0-9a-f]{64}$/.test(text)) throw new BadConfig(`${path} does not hold 64 hex digits; restore it from a backup`)
  return Buffer.from(text, 'hex')
}

// The catalog of a gateway that nobody configured: offline, and with a price, so that billing can be seen.
export function demoCatalog(newPriceVersion: () => string): DeclaredCatalog {
  const prices = {
    prompt: 1_000_000n,
    completion: 2_000_000n,
    cacheRead: 1_000_000n,
    cacheWrite: 1_000_000n,
    request: 0n,
  }
  return {
    providers: [
      { id: 'demo', kind: 'demo', baseUrl: '', passthrough: [], maxTokensField: 'max_tokens', timeouts: TIMEOUTS },
    ],
    models: [
      {
        id: DEMO_MODEL,
        aliases: [],
        name: 'Echo',
        description: 'Offline: answers with what you said, word by word.',
        ownedBy: 'demo',
        contextLength: 128_000,
        maxOutputTokens: 4_096,
        inputModalities: ['text'],
        mediaMaxTokens: 0,
        hiddenReasoning: false,
        supportedParameters: ['max_tokens', 'stream'],
        prices,
        newPriceVersion: newPriceVersion(),
        targets: [{ provider: 'demo', model: 'echo', priority: 0, weight: 1 }],
      },
    ],
  }
}

export function welcome(url: string, first: FirstStart, model: string): string {
  const lines = ['', `Turnpike is ready at ${url}`, '']
  if (first.adminToken !== undefined) lines.push(`  Admin token  ${first.adminToken}`)
  if (first.secret !== undefined) {
    lines.push(`  First key    ${first.secret}`, '', 'Both are shown this once. Try it:', '')
    lines.push(
      `  curl ${url}/v1/chat/completions -H 'Authorization: Bearer ${first.secret}' -H 'Content-Type: application/json' -d '{"model":"${model}","messages":[{"role":"user","content":"Hello"}]}'`,
    )
    lines.push('', `Add "stream":true to the body to see it word by word (curl -N).`)
  } else if (first.adminToken !== undefined) {
    lines.push('', 'The admin token is shown this once. Make a key with: npx turnpike keys create --name first')
  }
  return `${lines.join('\n')}\n\n`
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
