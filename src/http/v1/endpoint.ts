// What an endpoint under /v1 is to the door: a path, a rule of admission, and what to do with an admitted request.
import type { EndpointRule } from '../../admit/authorize.ts'
import type { Pass } from '../../domain/handoff.ts'
import type { Served } from '../../telemetry/request-report.ts'
import type { Case } from '../response.ts'

// Served also by the express lane, and where the dashboard is alone.
export const CHATS = '/v1/chat/completions'

export type V1Endpoint = {
  readonly rule: EndpointRule
  // What the path leaves after the endpoint's own part, or undefined if it is another path.
  match(path: string): string | undefined
  serve(it: Case, pass: Pass, rest: string): Promise<Served>
}

export function exactly(path: string): (candidate: string) => string | undefined {
  return candidate => (candidate === path ? '' : undefined)
}

// `/v1/models/a%2Fb` and `/v1/models/a/b` both name `a/b`.
export function below(prefix: string): (candidate: string) => string | undefined {
  return candidate => {
    if (!candidate.startsWith(prefix) || candidate.length === prefix.length) return undefined
    try {
      return decodeURIComponent(candidate.slice(prefix.length))
    } catch {
      return undefined
    }
  }
}
