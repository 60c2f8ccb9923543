// The filter by tag: `team=search` in the field, `team:search` in the URL.
import { TextInput } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import { readTagText } from '../../components/tags.tsx'

type Props = { readonly value: string; readonly onSet: (tag: string) => void }

export function TagFilter({ value, onSet }: Props): ReactNode {
  const [text, setText] = useState(value.replace(':', '='))
  const [isWrong, setWrong] = useState(false)
  useEffect(() => setText(value.replace(':', '=')), [value])
  const apply = () => {
    const tag = readTagText(text)
    setWrong(tag === undefined && text.trim() !== '')
    if (tag !== undefined) onSet(tag.join(':'))
    else if (text.trim() === '') onSet('')
  }
  return (
    <TextInput
      aria-label="Tag"
      placeholder="Tag: team=search"
      maxLength={200}
      value={text}
      error={isWrong ? 'Enter a tag such as team=search' : undefined}
      onChange={({ currentTarget }) => setText(currentTarget.value)}
      onBlur={apply}
      onKeyDown={({ key }) => key === 'Enter' && apply()}
    />
  )
}
