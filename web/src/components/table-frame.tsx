// A table that scrolls horizontally on narrow screens, also by keyboard.
import { Table, VisuallyHidden } from '@mantine/core'
import type { ReactNode } from 'react'

export type Column = { readonly name: string; readonly isRight?: boolean; readonly isHidden?: boolean }

export type TableFrameProps = {
  readonly label: string
  readonly columns: readonly Column[]
  readonly children: ReactNode
}

export function TableFrame({ label, columns, children }: TableFrameProps): ReactNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
    <section className="table-frame" aria-label={`Table: ${label}`} tabIndex={0}>
      <Table highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ name, isRight = false, isHidden = false }) => (
              <Table.Th key={name} className={isRight ? 'right' : ''} scope="col">
                {isHidden ? <VisuallyHidden>{name}</VisuallyHidden> : name}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </section>
  )
}
