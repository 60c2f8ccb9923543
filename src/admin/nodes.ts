// The list of nodes for operators: which share the database, and which of them are alive.
import { isoTime } from '../domain/wire-time.ts'
import type { NodeEntry, Nodes } from '../store/contract/nodes.ts'
import type { List } from './input.ts'

export type NodeObject = {
  readonly object: 'node'
  readonly id: string
  readonly name: string
  readonly version: string
  readonly started_at: string
  readonly renewed_at: string
  readonly state: NodeEntry['state']
  readonly self: boolean
  readonly requests_in_flight: number
}

export type NodeMethods = { list(): Promise<List<NodeObject>> }

export function nodeMethods(needs: { readonly nodes: Pick<Nodes, 'list'> }): NodeMethods {
  return {
    async list() {
      const nodes = await needs.nodes.list()
      return { object: 'list', data: nodes.map(nodeObject), has_more: false }
    },
  }
}

function nodeObject(node: NodeEntry): NodeObject {
  return {
    object: 'node',
    id: node.id,
    name: node.name,
    version: node.version,
    started_at: isoTime(node.startedAt),
    renewed_at: isoTime(node.renewedAt),
    state: node.state,
    self: node.self,
    requests_in_flight: node.inFlight,
  }
}
