// Names the node whose view of the providers is shown, because each node tracks provider health on its own.
import { useNodes } from '../api/nodes.ts'

// Undefined with a single node, or until the nodes are loaded.
export function useNodeView(): string | undefined {
  const { data } = useNodes()
  const alive = data?.data.filter(({ state }) => state === 'alive') ?? []
  if (alive.length < 2) return undefined
  const self = alive.find(node => node.self)?.name ?? 'this node'
  return `As seen by ${self}, one of ${alive.length} nodes.`
}
