// Switches between light and dark mode; the system setting applies until the operator chooses.
import { ActionIcon, Tooltip, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { IconMoon, IconSun } from '@tabler/icons-react'
import type { ReactNode } from 'react'

export function SchemeSwitch(): ReactNode {
  const { setColorScheme } = useMantineColorScheme()
  const scheme = useComputedColorScheme('light')
  const other = scheme === 'light' ? 'dark' : 'light'
  return (
    <Tooltip label={`Switch to ${other} mode`}>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        aria-label={`Switch to ${other} mode`}
        onClick={() => setColorScheme(other)}
      >
        {scheme === 'light' ? <IconMoon size={19} stroke={1.6} /> : <IconSun size={19} stroke={1.6} />}
      </ActionIcon>
    </Tooltip>
  )
}
