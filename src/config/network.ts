// How the process uses the network: whether the fast path is on, and which proxies the environment names.
import { PROXY_RULE, proxyAddress } from '../lib/proxy-address.ts'
import { BadConfig } from './bad-config.ts'
import { type Environment, flag, read } from './env.ts'

export type Network = {
  // Chats off the bare socket and our own HTTP client; else Node's HTTP server and undici serve everything.
  readonly fastPath: boolean
  readonly proxies: {
    readonly http: string | undefined
    readonly https: string | undefined
    // The entries of NO_PROXY.
    readonly exempt: readonly string[]
  }
}

export function readNetwork(env: Environment, platform: string = process.platform): Network {
  const exempt = eitherCase(env, 'no_proxy')?.split(/[\s,]+/) ?? []
  return {
    fastPath: mayUseFastPath(flag(env, 'TURNPIKE_FAST_PATH', true), platform),
    proxies: {
      http: environmentProxy(env, 'http_proxy'),
      https: environmentProxy(env, 'https_proxy'),
      exempt: exempt.filter(entry => entry !== ''),
    },
  }
}

// Our client reads all connections into one buffer. On Windows the kernel writes into it while other code runs (IOCP), so that
// one response could overwrite another: there the fast path is always off.
export function mayUseFastPath(isWanted: boolean, platform: string): boolean {
  return isWanted && platform !== 'win32'
}

function environmentProxy(env: Environment, name: string): string | undefined {
  const value = eitherCase(env, name)
  if (value === undefined) return undefined
  const address = proxyAddress(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`)
  if (address === undefined) throw new BadConfig(`${name.toUpperCase()} must be ${PROXY_RULE}`)
  return address
}

// As curl and others do: the name in lower case comes first.
function eitherCase(env: Environment, name: string): string | undefined {
  return read(env, name) ?? read(env, name.toUpperCase())
}
