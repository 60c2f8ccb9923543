// How this server is set up, who may come in here, and who is in.
import { Anchor, SegmentedControl, SimpleGrid, Text, useMantineColorScheme } from '@mantine/core'
import type { ReactNode } from 'react'
import { type SettingsObject, useSettings } from '../../api/settings.ts'
import { DescriptionList } from '../../components/description-list.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { Operators } from './operators.tsx'
import { Sessions } from './sessions.tsx'

export default function Settings(): ReactNode {
  const { data, error, refetch } = useSettings()
  return (
    <Page title="Settings" about="Set by the environment and the configuration file; here they are to be read.">
      {error !== null && <ErrorAlert error={error} onRetry={() => void refetch()} />}
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <Panel title="Server">{data !== undefined && <DescriptionList of={serverOf(data)} />}</Panel>
        <Panel title="Defaults of a new key">
          {data !== undefined && <DescriptionList of={factsOf(data.defaults)} />}
        </Panel>
      </SimpleGrid>
      <Operators />
      <Sessions />
      <Appearance />
    </Page>
  )
}

function Appearance(): ReactNode {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  return (
    <Panel title="This browser">
      <Text size="sm" mb="xs">
        Appearance, kept in this browser alone. The API is described in the{' '}
        <Anchor href="/docs" inherit>
          reference
        </Anchor>
        .
      </Text>
      <SegmentedControl
        aria-label="Appearance"
        data={[
          { value: 'auto', label: 'As the system' },
          { value: 'light', label: 'Light' },
          { value: 'dark', label: 'Dark' },
        ]}
        value={colorScheme}
        onChange={value => setColorScheme(value as 'auto' | 'light' | 'dark')}
      />
    </Panel>
  )
}

const SHOWN_ELSEWHERE = new Set(['object', 'version', 'engine', 'redis', 'brand', 'defaults'])

function serverOf(settings: SettingsObject): readonly (readonly [string, ReactNode])[] {
  const rest = Object.fromEntries(Object.entries(settings).filter(([name]) => !SHOWN_ELSEWHERE.has(name)))
  return [
    ['Version', settings.version],
    ['Store', settings.engine === 'sqlite' ? 'SQLite' : 'Postgres'],
    ['Redis', settings.redis === 'none' ? 'not used' : <StateBadge key="redis" state={settings.redis} />],
    [
      'Keys begin with',
      <span key="prefix" className="mono">
        {settings.brand.key_prefix}
      </span>,
    ],
    [
      'Headers begin with',
      <span key="header" className="mono">
        {settings.brand.header_prefix}
      </span>,
    ],
    ...factsOf(rest),
  ]
}

function factsOf(fields: Readonly<Record<string, unknown>>): readonly (readonly [string, ReactNode])[] {
  return Object.entries(fields).map(([name, value]) => [wordsOf(name), textOf(value)] as const)
}

function wordsOf(name: string): string {
  const words = name.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function textOf(value: unknown): string {
  if (value === null || value === undefined || value === '') return 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(textOf).join(', ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
