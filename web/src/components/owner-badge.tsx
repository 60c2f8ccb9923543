// Who owns an entry of the catalog: the configuration file, or operators.
import { Badge, Tooltip } from '@mantine/core'
import { IconLock } from '@tabler/icons-react'
import type { ReactNode } from 'react'

export function OwnerBadge({ isFiles }: { readonly isFiles: boolean }): ReactNode {
  if (!isFiles) return null
  return (
    <Tooltip
      multiline
      w={260}
      label="Declared by the configuration file, or by a first start without one. Change the file and run “turnpike apply”."
    >
      <Badge variant="light" color="gray" size="sm" tt="none" leftSection={<IconLock size={11} />} tabIndex={0}>
        file
      </Badge>
    </Tooltip>
  )
}
