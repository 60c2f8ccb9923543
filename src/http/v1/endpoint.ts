// An endpoint under /v1 as the router sees it: a path, an admission rule, and a handler for admitted requests.
import type { EndpointRule } from '../../admit/authorize.ts'
import type { Pass } from '../../domain/handoff.ts'
import type { Served } from '../../telemetry/request-report.ts'
import type { RequestContext } from '../response.ts'

// Also served by the express path, and on a separate dashboard listener.
export const CHATS = '/v1/chat/completions'

export type V1Endpoint = {
  readonly rule: EndpointRule
  // The part of the path after the endpoint's own, or undefined if it is another path.
  match(path: string): string | undefined
  serve(ctx: RequestContext, pass: Pass, rest: string): Promise<Served>
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
