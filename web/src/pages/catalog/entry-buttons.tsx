// The buttons of the model and provider dialogs: delete on one side, cancel and save on the other.
import { Button, Group } from '@mantine/core'

export type EntryButtonsProps = {
  readonly isNew: boolean
  readonly isReadOnly: boolean
  readonly isPending: boolean
  onDelete(): void
  onClose(): void
}

export function EntryButtons({ isNew, isReadOnly, isPending, onDelete, onClose }: EntryButtonsProps) {
  return (
    <Group justify="space-between">
      {!isNew && !isReadOnly ? (
        <Button variant="subtle" color="red" onClick={onDelete}>
          Delete
        </Button>
      ) : (
        <span />
      )}
      <Group>
        <Button variant="default" onClick={onClose}>
          {isReadOnly ? 'Close' : 'Cancel'}
        </Button>
        {!isReadOnly && (
          <Button type="submit" loading={isPending}>
            {isNew ? 'Add' : 'Save'}
          </Button>
        )}
      </Group>
    </Group>
  )
}
