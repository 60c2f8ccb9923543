// The frame around every page of the portal: brand, account, pages and connection status.
import { ActionIcon, Box, Button, Group, Menu, Text } from '@mantine/core'
import { IconArrowLeft, IconClock, IconLogout, IconUserCircle } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { notifyError } from '../components/notify.tsx'
import { ConnectionBar } from '../shell/connection-bar.tsx'
import { SchemeSwitch } from '../shell/scheme-switch.tsx'
import { useZoneSwitch } from '../shell/zone-switch.tsx'
import { Logo } from './logo.tsx'
import { signOut, useMay, usePortalSession } from './session.ts'
import classes from './shell.module.css'

const WIDTH = 1320

export function Shell({ children }: { readonly children: ReactNode }): ReactNode {
  return (
    <>
      <a href="#main" className="skip">
        Skip to content
      </a>
      <Box component="header" className={classes.head ?? ''}>
        <Group maw={WIDTH} mx="auto" px="md" pt="xs" gap="sm" wrap="nowrap" justify="space-between">
          <Group gap="xs" wrap="nowrap" miw={0}>
            <Logo />
          </Group>
          <Group gap={4} wrap="nowrap">
            <BackButton />
            <SchemeSwitch />
            <AccountMenu />
          </Group>
        </Group>
        <Box maw={WIDTH} mx="auto" px={6}>
          <Pages />
        </Box>
      </Box>
      <Box component="main" id="main" tabIndex={-1} maw={WIDTH} mx="auto" p="md" pb="xl">
        <ConnectionBar />
        {children}
      </Box>
    </>
  )
}

function Pages(): ReactNode {
  const [location] = useLocation()
  const mayUse = useMay('usage')
  const pages = [
    { path: '/', label: 'Overview' },
    ...(mayUse ? [{ path: '/usage', label: 'Usage' }] : []),
    { path: '/keys', label: 'Keys' },
    { path: '/start', label: 'Get started' },
  ]
  return (
    <nav aria-label="Pages" className={classes.links}>
      {pages.map(({ path, label }) => {
        const isHere = location === path || (path !== '/' && location.startsWith(`${path}/`))
        return (
          <Link
            key={path}
            href={path}
            className={classes.link}
            {...(isHere ? { 'aria-current': 'page' as const } : {})}
          >
            {label}
          </Link>
        )
      })}
    </nav>
  )
}

function BackButton(): ReactNode {
  const { return_url: url } = usePortalSession()
  if (url === null) return null
  return (
    <Button
      component="a"
      href={url}
      variant="subtle"
      color="gray"
      size="compact-sm"
      leftSection={<IconArrowLeft size={15} />}
      visibleFrom="xs"
    >
      Back to {new URL(url).host}
    </Button>
  )
}

function AccountMenu(): ReactNode {
  const { account, return_url: url } = usePortalSession()
  const zone = useZoneSwitch()
  return (
    <Menu position="bottom-end" width={240}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label="Account menu">
          <IconUserCircle size={21} stroke={1.6} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <Text size="sm" className="name" component="div">
            {account.name}
          </Text>
          <span className="mono break">{account.id}</span>
        </Menu.Label>
        {url !== null && (
          <Menu.Item component="a" href={url} leftSection={<IconArrowLeft size={16} />}>
            Back to {new URL(url).host}
          </Menu.Item>
        )}
        <Menu.Item leftSection={<IconClock size={16} />} closeMenuOnClick={false} onClick={zone.change}>
          {zone.label}
        </Menu.Item>
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => void signOut().catch(notifyError)}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
