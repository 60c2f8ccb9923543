// A dialog for irreversible changes: the button is enabled once the name has been typed.
import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { ErrorAlert } from './error-alert.tsx'

export type TypedConfirmProps = {
  readonly title: string
  readonly name: string
  readonly verb: string
  readonly isPending: boolean
  readonly error: Error | null
  readonly onConfirm: () => void
  readonly onClose: () => void
  readonly children: ReactNode
}

export function TypedConfirm(props: TypedConfirmProps): ReactNode {
  const [typed, setTyped] = useState('')
  // Leading and trailing spaces are invisible, so they do not have to be typed.
  const isRight = typed.trim() === props.name.trim()
  return (
    <Modal opened onClose={props.onClose} title={props.title}>
      <form
        onSubmit={event => {
          event.preventDefault()
          if (isRight && !props.isPending) props.onConfirm()
        }}
      >
        <Stack gap="sm">
          {props.children}
          <TextInput
            label={
              <>
                Type{' '}
                <Text span fw={700} size="sm" className="name">
                  {props.name}
                </Text>{' '}
                to confirm
              </>
            }
            aria-label="Type the name to confirm"
            autoComplete="off"
            data-autofocus
            value={typed}
            onChange={event => setTyped(event.currentTarget.value)}
          />
          {props.error !== null && <ErrorAlert error={props.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={props.onClose}>
              Cancel
            </Button>
            <Button type="submit" color="red.9" disabled={!isRight} loading={props.isPending}>
              {props.verb}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
