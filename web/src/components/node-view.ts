// Which node's view a page shows, in words, where there are several: what a node saw of the providers is its own.
import { useNodes } from '../api/nodes.ts'

// Undefined while there is one node, or none is known yet.
export function useNodeView(): string | undefined {
  const { data } = useNodes()
  const alive = data?.data.filter(({ state }) => state === 'alive') ?? []
  if (alive.length < 2) return undefined
  const self = alive.find(node => node.self)?.name ?? 'the one that answers'
  return `As one of ${alive.length} nodes has seen it: ${self}.`
}
