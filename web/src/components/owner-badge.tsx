// Marks catalog entries that are read-only in the dashboard, because the configuration file or the first start owns them.
import { Badge, Tooltip } from '@mantine/core'
import { IconLock } from '@tabler/icons-react'
import type { ReactNode } from 'react'

export function OwnerBadge({ isFiles }: { readonly isFiles: boolean }): ReactNode {
  if (!isFiles) return null
  return (
    <Tooltip
      multiline
      w={260}
      label="Read-only here: declared in the configuration file or created at first start. To change it, edit the file and run “turnpike apply”."
    >
      <Badge variant="light" color="gray" size="sm" tt="none" leftSection={<IconLock size={11} />} tabIndex={0}>
        read-only
      </Badge>
    </Tooltip>
  )
}
