// The settings page: server configuration, operators, sessions and appearance.
import { Alert, Anchor, SegmentedControl, SimpleGrid, Text, useMantineColorScheme } from '@mantine/core'
import { IconArrowUp } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { type SettingsObject, useSettings } from '../../api/settings.ts'
import { Credits } from '../../components/credits.tsx'
import { DescriptionList } from '../../components/description-list.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { count } from '../../format/numbers.ts'
import { Operators } from './operators.tsx'
import { Sessions } from './sessions.tsx'

export default function Settings(): ReactNode {
  const { data, error, refetch } = useSettings()
  return (
    <Page
      title="Settings"
      about="Server settings are read-only; set them in the environment or the configuration file."
    >
      {error !== null && <ErrorAlert error={error} onRetry={() => void refetch()} />}
      {typeof data?.update_available === 'string' && <Update from={data.version} to={data.update_available} />}
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <Panel title="Server">{data !== undefined && <DescriptionList of={serverOf(data)} />}</Panel>
        <Panel title="Defaults for new keys">
          {data !== undefined && <DescriptionList of={rowsOf(data.defaults)} />}
        </Panel>
      </SimpleGrid>
      <Operators />
      <Sessions />
      <Appearance />
    </Page>
  )
}

function Update({ from, to }: { readonly from: string; readonly to: string }): ReactNode {
  return (
    <Alert id="update" color="blue" icon={<IconArrowUp size={18} />} title={`Turnpike ${to} is available`} py="sm">
      <Text size="sm">
        This is {from}. Read the changelog, run <span className="mono">npx turnpike backup FILE</span>, stop the
        gateway, install the new version and start it. The page “Upgrade and backup” of the documentation has every
        step, also for several nodes and for going back.
      </Text>
    </Alert>
  )
}

function Appearance(): ReactNode {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  return (
    <Panel title="Appearance">
      <Text size="sm" mb="xs">
        Stored in this browser only. For the HTTP API, see the{' '}
        <Anchor href="/docs" inherit>
          API reference
        </Anchor>
        .
      </Text>
      <SegmentedControl
        aria-label="Appearance"
        data={[
          { value: 'auto', label: 'System' },
          { value: 'light', label: 'Light' },
          { value: 'dark', label: 'Dark' },
        ]}
        value={colorScheme}
        onChange={value => setColorScheme(value as 'auto' | 'light' | 'dark')}
      />
    </Panel>
  )
}

const SHOWN_ELSEWHERE = new Set([
  'object',
  'version',
  'engine',
  'redis',
  'brand',
  'defaults',
  'portal',
  'update_available',
])

function serverOf(settings: SettingsObject): readonly (readonly [string, ReactNode])[] {
  const rest = Object.fromEntries(Object.entries(settings).filter(([name]) => !SHOWN_ELSEWHERE.has(name)))
  return [
    ['Version', settings.version],
    ['Database', settings.engine === 'sqlite' ? 'SQLite' : 'Postgres'],
    ['Redis', settings.redis === 'none' ? 'not used' : <StateBadge key="redis" state={settings.redis} />],
    [
      'Key prefix',
      <span key="prefix" className="mono">
        {settings.brand.key_prefix}
      </span>,
    ],
    [
      'Header prefix',
      <span key="header" className="mono">
        {settings.brand.header_prefix}
      </span>,
    ],
    ['Customer portal', settings.portal === null ? 'off' : portalOf(settings.portal)],
    ...rowsOf(rest),
  ]
}

function portalOf({ name, url }: NonNullable<SettingsObject['portal']>): string {
  return url === null ? name : `${name}, ${url}`
}

function rowsOf(fields: Readonly<Record<string, unknown>>): readonly (readonly [string, ReactNode])[] {
  return Object.entries(fields).map(
    ([name, value]) => [LABELS[name] ?? name, isUnset(value) ? (UNSET[name] ?? 'none') : shown(name, value)] as const,
  )
}

function shown(name: string, value: unknown): ReactNode {
  return name === 'credit_limit' ? <Credits value={String(value)} hasUnit /> : textOf(value)
}

const LABELS: Readonly<Record<string, string>> = {
  usage_retention_days: 'Usage retention (days)',
  trusted_proxies: 'Trusted proxies',
  cors_origins: 'CORS origins',
  admin_listen: 'Admin listener',
  config_file: 'Configuration file',
  credits_per_usd: 'Credits per US dollar',
  explain: 'Store routing decisions',
  show_upstream_cost: 'Clients see provider cost',
  allow_private_upstreams: 'Private upstream addresses',
  scopes: 'Scopes',
  ip_allowlist: 'IP allowlist',
  rpm_limit: 'Requests per minute',
  daily_limit: 'Requests per day (UTC)',
  credit_limit: 'Credit limit (lifetime)',
  max_concurrent: 'Concurrent requests',
}

// The meaning of a setting that is empty or null.
const UNSET: Readonly<Record<string, string>> = {
  usage_retention_days: 'unlimited',
  admin_listen: 'same as the API',
  credits_per_usd: '1 (not set)',
  ip_allowlist: 'any address',
  daily_limit: 'no limit',
  credit_limit: 'no limit',
}

function isUnset(value: unknown): boolean {
  return value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
}

function textOf(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'number') return count(value)
  if (Array.isArray(value)) return value.map(textOf).join(', ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
