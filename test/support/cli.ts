// The command line as an operator uses it with a running gateway: the environment has the URL and the token, never an
// argument.
import { dirname, join } from 'node:path'
import type { Gateway } from './gateway.ts'
import { type ProcessResult, runProcess } from './gateway-process.ts'
import type { Loose } from './http-call.ts'

// `json` throws when stdout is not JSON.
export type CliResult = ProcessResult & { readonly json: Loose }

export type CliOptions = {
  // Merged into the gateway's own; undefined removes a variable.
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly stdin?: string
}

export async function cli(gateway: Gateway, args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const env = {
    TURNPIKE_URL: gateway.url,
    TURNPIKE_ADMIN_TOKEN: gateway.adminToken,
    // Not the profiles of the person who runs the tests.
    XDG_CONFIG_HOME: join(dirname(gateway.configFile), 'settings'),
    ...gateway.storeEnv,
    ...options.env,
  }
  const result = await runProcess(args, dirname(gateway.configFile), env, options.stdin)
  return {
    ...result,
    get json() {
      return JSON.parse(result.stdout) as Loose
    },
  }
}
