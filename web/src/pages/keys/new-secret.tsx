// Shows a new secret once, with snippets, and offers to try it in the playground.
import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { useLocation } from 'wouter'
import { useBaseUrl } from '../../api/base-url.ts'
import type { KeyWithSecret } from '../../api/keys.ts'
import { useModelDirectory } from '../../api/models.ts'
import { SecretOnce } from '../../components/keys/secret-once.tsx'
import { rememberKey } from '../playground/own-key.ts'

export function NewSecret({ of: key, onDone }: { readonly of: KeyWithSecret; readonly onDone: () => void }): ReactNode {
  const [, goTo] = useLocation()
  const baseUrl = useBaseUrl()
  const model =
    useModelDirectory().find(({ status, type }) => status === 'active' && type !== 'embedding')?.id ?? 'demo/echo'

  function tryIt(): void {
    rememberKey(key.secret)
    onDone()
    goTo('/playground')
  }

  return (
    <SecretOnce
      secret={key.secret}
      baseUrl={baseUrl}
      model={model}
      onDone={onDone}
      action={
        <Button variant="default" onClick={tryIt}>
          Open in playground
        </Button>
      }
    />
  )
}
