// The search button of the header, and the keyboard shortcuts: ⌘K or / searches, ? lists them.
import { Box, Kbd, Modal, Table, UnstyledButton } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { type ReactNode, useEffect, useState } from 'react'
import { SearchPalette } from './search-palette.tsx'
import classes from './shortcuts.module.css'

const IS_MAC = /Mac|iPhone|iPad/.test(navigator.userAgent)
const MODIFIER = IS_MAC ? '⌘' : 'Ctrl'

const SHORTCUTS: readonly (readonly [keys: readonly string[], what: string])[] = [
  [[MODIFIER, 'K'], 'Search accounts, keys, models, requests and pages'],
  [['/'], 'Search'],
  [['?'], 'Show this list'],
  [['Esc'], 'Close a dialog'],
]

export function Shortcuts(): ReactNode {
  const [open, setOpen] = useState<'search' | 'help'>()
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const next = shortcutOf(event)
      // A dialog may show a secret that navigation would lose.
      if (next === undefined || document.querySelector('[role=dialog]') !== null) return
      event.preventDefault()
      setOpen(next)
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [])
  const close = () => setOpen(undefined)
  return (
    <>
      <UnstyledButton className={classes.button ?? ''} onClick={() => setOpen('search')}>
        <IconSearch size={15} aria-hidden />
        <span className={classes.label}>Search</span>
        <Box component="span" visibleFrom="sm" aria-hidden>
          <Kbd size="xs">{MODIFIER}</Kbd> <Kbd size="xs">K</Kbd>
        </Box>
      </UnstyledButton>
      {open === 'search' && <SearchPalette onClose={close} />}
      {open === 'help' && (
        <Modal opened onClose={close} title="Keyboard shortcuts">
          <Table>
            <Table.Tbody>
              {SHORTCUTS.map(([keys, what]) => (
                <Table.Tr key={what}>
                  <Table.Td>
                    {keys.map(key => (
                      <Kbd key={key} mr={4}>
                        {key}
                      </Kbd>
                    ))}
                  </Table.Td>
                  <Table.Td>{what}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Modal>
      )}
    </>
  )
}

function shortcutOf({ key, metaKey, ctrlKey, altKey, target }: KeyboardEvent): 'search' | 'help' | undefined {
  if ((metaKey || ctrlKey) && key.toLowerCase() === 'k') return 'search'
  const isTyping =
    target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null
  if (isTyping || metaKey || ctrlKey || altKey) return undefined
  return key === '/' ? 'search' : key === '?' ? 'help' : undefined
}
