// Reads expressions of PromQL with Prometheus' own grammar: which metrics they select, and which labels they use of each.
import type { SyntaxNode } from '@lezer/common'
import { parser } from '@prometheus-io/lezer-promql'

export type Selected = { readonly metric: string; readonly labels: readonly string[] }

// Throws for an expression that is not valid.
export function selectedIn(expression: string): readonly Selected[] {
  const selected: Selected[] = []
  const text = (node: { from: number; to: number }) => expression.slice(node.from, node.to)
  parser.parse(expression).iterate({
    enter({ type, node }) {
      if (type.isError) throw new Error(`not PromQL near character ${node.from}: ${expression}`)
      if (type.name !== 'VectorSelector') return
      const name = node.getChild('Identifier')
      if (name === null) throw new Error(`a selector without a name: ${expression}`)
      const matchers = node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? []
      const matched = matchers.flatMap(matcher => matcher.getChildren('LabelName')).map(text)
      selected.push({ metric: text(name), labels: [...new Set([...matched, ...groupedBy(node).map(text)])] })
    },
  })
  return selected
}

// The labels that the innermost aggregation around a selector keeps.
function groupedBy(selector: SyntaxNode): readonly SyntaxNode[] {
  for (let node = selector.parent; node !== null; node = node.parent) {
    if (node.name !== 'AggregateExpr') continue
    return node.getChild('AggregateModifier')?.getChild('GroupingLabels')?.getChildren('LabelName') ?? []
  }
  return []
}
