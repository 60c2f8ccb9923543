// The search over everything: pages, customers, keys, models and requests, in a dialog that works by keyboard alone.
import { Group, Kbd, Modal, ScrollArea, Text, TextInput, UnstyledButton } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import {
  type Icon,
  IconCpu,
  IconFileText,
  IconKey,
  IconLayoutSidebar,
  IconSearch,
  IconWallet,
} from '@tabler/icons-react'
import { type KeyboardEvent, type ReactNode, useState } from 'react'
import { useLocation } from 'wouter'
import { type SearchResult, useSearchResults } from '../api/search.ts'
import { messageOf } from '../components/error-alert.tsx'
import { withoutControls } from '../format/isolated.ts'
import { PAGES } from './pages.ts'
import classes from './search-palette.module.css'

type Choice = {
  readonly id: string
  readonly href: string
  readonly name: string
  readonly detail: string | null
  readonly kind: string
  readonly icon: Icon
}

const TYPES: Readonly<
  Record<SearchResult['type'], { readonly kind: string; readonly icon: Icon; readonly href: (id: string) => string }>
> = {
  account: { kind: 'Account', icon: IconWallet, href: id => `/accounts/${encodeURIComponent(id)}` },
  key: { kind: 'Key', icon: IconKey, href: id => `/keys/${encodeURIComponent(id)}` },
  model: { kind: 'Model', icon: IconCpu, href: id => `/models?q=${encodeURIComponent(id)}` },
  request: { kind: 'Request', icon: IconFileText, href: id => `/usage/${encodeURIComponent(id)}` },
}

export function SearchPalette({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const [, goTo] = useLocation()
  const [searched] = useDebouncedValue(text, 120)
  const { data, error, isFetching } = useSearchResults(searched)
  const choices = [...(text.trim() === '' ? [] : (data?.data ?? []).map(choiceOf)), ...pagesWith(text)]
  const index = Math.min(chosen, choices.length - 1)
  const isSettled = searched === text && !isFetching

  function open({ href }: Choice): void {
    onClose()
    goTo(href)
  }

  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setChosen((index + step + choices.length) % Math.max(1, choices.length))
    }
    const choice = choices[index]
    // Not before the results are those of this text.
    if (event.key === 'Enter' && choice !== undefined && isSettled) open(choice)
  }

  return (
    <Modal
      opened
      onClose={onClose}
      withCloseButton={false}
      padding={0}
      size="lg"
      yOffset="12vh"
      centered={false}
      attributes={{ content: { 'aria-label': 'Search' } }}
    >
      <TextInput
        size="md"
        variant="unstyled"
        className={classes.field ?? ''}
        leftSection={<IconSearch size={18} />}
        placeholder="Search accounts, keys, models, requests, pages"
        aria-label="Search"
        role="combobox"
        aria-expanded
        aria-controls="search-results"
        {...(choices[index] === undefined ? {} : { 'aria-activedescendant': `search-${index}` })}
        maxLength={200}
        data-autofocus
        value={text}
        onChange={({ currentTarget }) => {
          setText(currentTarget.value)
          setChosen(0)
        }}
        onKeyDown={onKeyDown}
      />
      <ScrollArea.Autosize mah="56vh" type="auto">
        <div id="search-results" role="listbox" aria-label="Results" className={classes.results}>
          {choices.map((choice, i) => (
            <Option key={choice.id} of={choice} id={`search-${i}`} isChosen={i === index} onOpen={() => open(choice)} />
          ))}
        </div>
        {choices.length === 0 && (
          <Text size="sm" c="dimmed" p="md" role="status">
            {error !== null ? messageOf(error) : isSettled ? 'No results.' : 'Searching…'}
          </Text>
        )}
      </ScrollArea.Autosize>
      <Group gap="md" className={classes.foot} px="md" py={6}>
        <Text size="xs" c="dimmed">
          <Kbd size="xs">↑</Kbd> <Kbd size="xs">↓</Kbd> choose
        </Text>
        <Text size="xs" c="dimmed">
          <Kbd size="xs">Enter</Kbd> open
        </Text>
        <Text size="xs" c="dimmed">
          <Kbd size="xs">Esc</Kbd> close
        </Text>
      </Group>
    </Modal>
  )
}

type OptionProps = {
  readonly of: Choice
  readonly id: string
  readonly isChosen: boolean
  readonly onOpen: () => void
}

function Option({ of, id, isChosen, onOpen }: OptionProps): ReactNode {
  const { name, detail, kind, icon: Icon } = of
  return (
    <UnstyledButton
      id={id}
      role="option"
      aria-selected={isChosen}
      tabIndex={-1}
      className={classes.option ?? ''}
      data-chosen={isChosen || undefined}
      ref={isChosen ? scrollIntoView : null}
      onClick={onOpen}
    >
      <Icon size={17} stroke={1.6} aria-hidden className={classes.icon} />
      <bdi className={classes.name}>{withoutControls(name)}</bdi>
      {detail !== null && <bdi className={classes.detail}>{withoutControls(detail)}</bdi>}
      <span className={classes.kind}>{kind}</span>
    </UnstyledButton>
  )
}

function scrollIntoView(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: 'nearest' })
}

function choiceOf({ type, id, name, detail }: SearchResult): Choice {
  const { kind, icon, href } = TYPES[type]
  return { id: `${type} ${id}`, href: href(id), name, detail, kind, icon }
}

function pagesWith(text: string): readonly Choice[] {
  const wanted = text.trim().toLowerCase()
  return PAGES.filter(({ label }) => label.toLowerCase().includes(wanted)).map(({ path, label }) => ({
    id: `page ${path}`,
    href: path,
    name: label,
    detail: null,
    kind: 'Page',
    icon: IconLayoutSidebar,
  }))
}
