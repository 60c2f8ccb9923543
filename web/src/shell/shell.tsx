// The frame around every page: navigation, user menu and connection status.
import { ActionIcon, Anchor, AppShell, Box, Burger, Group, Menu, NavLink, Text, Tooltip } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconBook, IconClock, IconCoins, IconLogout, IconUserCircle } from '@tabler/icons-react'
import { type ReactNode, useEffect } from 'react'
import { Link, useLocation } from 'wouter'
import { signOut } from '../api/session.ts'
import { useSession } from '../api/session-context.ts'
import { useSettings } from '../api/settings.ts'
import { notifyError } from '../components/notify.tsx'
import icon from '../icon.svg'
import { ConnectionBar } from './connection-bar.tsx'
import { CurrencySwitch, useCurrencySwitch } from './currency-switch.tsx'
import { PAGES } from './pages.ts'
import { SchemeSwitch } from './scheme-switch.tsx'
import { Shortcuts } from './shortcuts.tsx'
import { useZoneSwitch, ZoneSwitch } from './zone-switch.tsx'

export function Shell({ children }: { readonly children: ReactNode }): ReactNode {
  const [isOpen, menu] = useDisclosure(false)
  const [location] = useLocation()
  // biome-ignore lint/correctness/useExhaustiveDependencies: navigation closes the menu on phones.
  useEffect(menu.close, [location])

  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 204, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'sm', sm: 'lg' }}
    >
      <a href="#main" className="skip">
        Skip to content
      </a>
      <AppShell.Header bg="var(--panel)">
        <Group h="100%" px="sm" gap="sm" wrap="nowrap" justify="space-between">
          <Group gap="xs" wrap="nowrap">
            <Burger opened={isOpen} onClick={menu.toggle} hiddenFrom="sm" size="sm" aria-label="Navigation" />
            <img src={icon} alt="" width={24} height={24} />
            <Text fw={650} visibleFrom="xs">
              Turnpike
            </Text>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <Shortcuts />
            <CurrencySwitch />
            <ZoneSwitch />
            <SchemeSwitch />
            <UserMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" bg="var(--panel)" aria-label="Pages">
        {PAGES.map(({ path, label, icon: Icon }) => {
          const isHere = location === path || location.startsWith(`${path}/`)
          return (
            <NavLink
              key={path}
              component={Link}
              href={path}
              label={label}
              active={isHere}
              {...(isHere ? { 'aria-current': 'page' as const } : {})}
              leftSection={<Icon size={18} stroke={1.6} aria-hidden />}
              py={7}
              bdrs="sm"
            />
          )
        })}
        <NavFooter />
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1}>
        <ConnectionBar />
        {children}
      </AppShell.Main>
    </AppShell>
  )
}

// The API reference, which is not a page of the dashboard, the version of the server, and a newer one.
function NavFooter(): ReactNode {
  const { data } = useSettings()
  return (
    <Box mt="auto" pt="xs">
      <NavLink
        href="/docs"
        label="API reference"
        leftSection={<IconBook size={18} stroke={1.6} aria-hidden />}
        py={7}
        bdrs="sm"
      />
      <Text size="xs" c="dimmed" px="sm" pt={4}>
        {data === undefined ? '\u00a0' : `Turnpike ${data.version}`}
      </Text>
      {typeof data?.update_available === 'string' && (
        <Anchor component={Link} href="/settings#update" size="xs" px="sm" display="block">
          Update available: {data.update_available}
        </Anchor>
      )}
    </Box>
  )
}

function UserMenu(): ReactNode {
  const { operator } = useSession()
  const zone = useZoneSwitch()
  const currency = useCurrencySwitch()
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <Tooltip label={`${operator.name} (${operator.role})`}>
          <ActionIcon variant="subtle" color="gray" size="lg" aria-label={`Signed in as ${operator.name}`}>
            <IconUserCircle size={21} stroke={1.6} />
          </ActionIcon>
        </Tooltip>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label className="break">
          {operator.name} · {operator.role === 'admin' ? 'admin (full access)' : 'viewer (read-only)'}
        </Menu.Label>
        <Menu.Item leftSection={<IconClock size={16} />} closeMenuOnClick={false} onClick={zone.change}>
          {zone.label}
        </Menu.Item>
        {currency !== undefined && (
          <Menu.Item leftSection={<IconCoins size={16} />} closeMenuOnClick={false} onClick={currency.change}>
            {currency.label}
          </Menu.Item>
        )}
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => void signOut().catch(notifyError)}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
