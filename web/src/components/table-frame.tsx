// A list: a table where there is room for one, otherwise a card of two lines for each row. The room is that of the panel, so a
// list in half of a wide page has cards too.
import { Table, VisuallyHidden } from '@mantine/core'
import type { CSSProperties, ReactNode } from 'react'
import classes from './table-frame.module.css'

export type Column = {
  readonly name: string
  readonly isRight?: boolean
  readonly isHidden?: boolean
  readonly width?: number | string
  // Instead of the name, such as a button that sorts.
  readonly head?: ReactNode
  // Its place on a card: the title (the first column), the value at the end of the title's line, in the second line after its
  // name (the others), in the second line without its name, or none.
  readonly card?: 'title' | 'value' | 'named' | 'unnamed' | 'none'
}

export type TableFrameProps = {
  readonly label: string
  readonly columns: readonly Column[]
  // For tables of few and short columns, which fit on every screen.
  readonly hasCards?: boolean
  // For long lists that show a part of their rows: the widths are those of the columns, whatever is shown.
  readonly isFixed?: boolean
  readonly children: ReactNode
}

export function TableFrame({ label, columns, hasCards = true, isFixed = false, children }: TableFrameProps): ReactNode {
  const className = `table-frame ${classes.frame} ${hasCards ? classes.cards : ''} ${isFixed ? classes.fixed : ''}`
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
    <section className={className} aria-label={`Table: ${label}`} tabIndex={0}>
      <Table style={cardStyle(columns)}>
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ name, isRight = false, isHidden = false, width, head }) => (
              <Table.Th key={name} className={isRight ? 'right' : ''} scope="col" style={{ width }}>
                {isHidden ? <VisuallyHidden>{name}</VisuallyHidden> : (head ?? name)}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </section>
  )
}

const ORDER = { title: 1, value: 2, named: 4, unnamed: 4, none: 5 } as const

// The style sheet gives these variables to the cells by their position.
function cardStyle(columns: readonly Column[]): CSSProperties {
  const variables = columns.flatMap(({ name, isHidden = false, card }, index) => {
    const place = card ?? (index === 0 ? 'title' : isHidden ? 'unnamed' : 'named')
    return [
      [`--label-${index + 1}`, place === 'named' ? JSON.stringify(name) : 'none'],
      [`--order-${index + 1}`, ORDER[place]],
      [`--flex-${index + 1}`, place === 'title' ? '1 1 0' : '0 1 auto'],
      [`--line-${index + 1}`, place === 'title' ? '-webkit-box' : 'inline'],
      [`--min-${index + 1}`, place === 'title' ? '35%' : '0'],
      [`--size-${index + 1}`, `var(--mantine-font-size-${place === 'title' || place === 'value' ? 'sm' : 'xs'})`],
      [`--display-${index + 1}`, place === 'none' ? 'none' : 'block'],
    ]
  })
  return Object.fromEntries(variables) as CSSProperties
}
