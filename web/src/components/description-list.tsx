// Names and values of one object, side by side.
import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './description-list.module.css'

export function DescriptionList({
  of,
}: {
  readonly of: readonly (readonly [name: string, value: ReactNode])[]
}): ReactNode {
  return (
    <dl className={classes.list}>
      {of.map(([name, value]) => (
        <div key={name}>
          <Text component="dt" size="xs" c="dimmed">
            {name}
          </Text>
          <Text component="dd" size="sm" m={0} className="break">
            {value}
          </Text>
        </div>
      ))}
    </dl>
  )
}
