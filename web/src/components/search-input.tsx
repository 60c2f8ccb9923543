// A search field that searches when typing pauses.
import { TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { type ReactNode, useEffect, useState } from 'react'

export type SearchInputProps = {
  readonly value: string
  readonly onSearch: (text: string) => void
  readonly label: string
  readonly width?: number
}

export function SearchInput({ value, onSearch, label, width = 240 }: SearchInputProps): ReactNode {
  const [text, setText] = useState(value)
  const search = useDebouncedCallback(onSearch, 250)
  useEffect(() => setText(value), [value])
  return (
    <TextInput
      w={{ base: '100%', xs: width }}
      maxLength={200}
      leftSection={<IconSearch size={15} />}
      placeholder={label}
      aria-label={label}
      value={text}
      onChange={event => {
        setText(event.currentTarget.value)
        search(event.currentTarget.value)
      }}
    />
  )
}
