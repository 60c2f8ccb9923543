// Snippets for libraries and coding agents in tabs, each with a button that copies it.
import { Tabs } from '@mantine/core'
import type { ReactNode } from 'react'
import { CopyField } from '../copy-field.tsx'
import { SNIPPETS, snippets } from './snippets.ts'

export type SnippetTabsProps = { readonly secret: string; readonly baseUrl: string; readonly model: string }

export function SnippetTabs(props: SnippetTabsProps): ReactNode {
  return (
    <Tabs defaultValue="curl" variant="outline">
      <Tabs.List>
        {Object.entries(SNIPPETS).map(([name, label]) => (
          <Tabs.Tab key={name} value={name}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {Object.entries(snippets(props)).map(([name, text]) => (
        <Tabs.Panel key={name} value={name} pt="xs">
          <CopyField text={text} label={`${name} snippet`} />
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}
