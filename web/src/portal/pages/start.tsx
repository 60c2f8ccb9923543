// How to use the API: the base URL, and snippets for libraries and coding agents.
import { Anchor, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { CopyField } from '../../components/copy-field.tsx'
import { SnippetTabs } from '../../components/keys/snippet-tabs.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { useExampleModel } from '../new-key-secret.tsx'
import { usePortalSession } from '../session.ts'

export default function Start(): ReactNode {
  const { base_url: baseUrl } = usePortalSession()
  const model = useExampleModel()
  return (
    <Page title="Get started" about="Works with OpenAI's and Anthropic's libraries and with coding agents.">
      <Panel title="Base URL" about="What your programs use instead of the vendor's address.">
        <CopyField text={baseUrl} label="base URL" />
      </Panel>
      <Panel
        title="Examples"
        about={
          <>
            Replace YOUR_KEY with the secret of a{' '}
            <Anchor component={Link} href="/keys" inherit>
              key
            </Anchor>
            .
          </>
        }
      >
        <SnippetTabs secret="YOUR_KEY" baseUrl={baseUrl} model={model} />
        <Text size="sm" mt="sm">
          All endpoints and models are in the{' '}
          <Anchor href={`${new URL(baseUrl).origin}/docs`} target="_blank" rel="noreferrer" inherit>
            API reference
          </Anchor>
          .
        </Text>
      </Panel>
    </Page>
  )
}
