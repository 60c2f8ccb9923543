// Chooses the time range of the overview: a fixed one, or two times.
import { Button, Group, Popover, Select, Stack, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconCalendar } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { RANGES, rangeOf } from '../../api/ranges.ts'
import type { SetParams } from '../../components/search-params.ts'
import { useZone, zoneName } from '../../components/zone.ts'
import { formatTime, fromInput, toInput } from '../../format/time.ts'

type RangePickerProps = { readonly params: URLSearchParams; readonly onChange: SetParams }

export function RangePicker({ params, onChange }: RangePickerProps): ReactNode {
  const zone = useZone()
  const { id, from, to } = rangeOf(params, zone, Date.now())
  const isCustom = id === 'custom'
  const [isOpen, popover] = useDisclosure(false)
  return (
    <Group gap="xs" wrap="nowrap">
      <Select
        aria-label="Range"
        size="xs"
        w={130}
        allowDeselect={false}
        data={[
          ...RANGES.map(({ id: value, label }) => ({ value, label })),
          ...(isCustom ? [{ value: 'custom', label: 'Custom' }] : []),
        ]}
        value={id}
        onChange={next => next !== 'custom' && onChange({ range: next ?? '', from: '', to: '' })}
      />
      <Popover opened={isOpen} onChange={popover.toggle} position="bottom-end" trapFocus withinPortal>
        <Popover.Target>
          <Button size="xs" variant="default" leftSection={<IconCalendar size={15} />} onClick={popover.toggle}>
            {isCustom ? `${formatTime(from, 'minute', zone)} – ${formatTime(to ?? '', 'minute', zone)}` : 'Custom'}
          </Button>
        </Popover.Target>
        <Popover.Dropdown>
          <CustomRange
            // Not of the times, which move on and would undo what is being typed.
            key={zone}
            from={from}
            to={to ?? new Date().toISOString()}
            zone={zone}
            onSet={range => {
              popover.close()
              onChange({ range: '', ...range })
            }}
          />
        </Popover.Dropdown>
      </Popover>
    </Group>
  )
}

type CustomRangeProps = {
  readonly from: string
  readonly to: string
  readonly zone: string
  readonly onSet: (range: { readonly from: string; readonly to: string }) => void
}

function CustomRange({ from, to, zone, onSet }: CustomRangeProps): ReactNode {
  const [texts, setTexts] = useState({ from: toInput(from, zone), to: toInput(to, zone) })
  const range = { from: fromInput(texts.from, zone), to: fromInput(texts.to, zone) }
  const isValid = range.from !== '' && range.to !== '' && range.from < range.to
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        if (isValid) onSet(range)
      }}
    >
      <Stack gap="xs">
        {(['from', 'to'] as const).map(end => (
          <TextInput
            key={end}
            type="datetime-local"
            size="xs"
            label={end === 'from' ? `From, ${zoneName(zone)}` : 'To'}
            value={texts[end]}
            onChange={({ currentTarget: { value } }) => setTexts({ ...texts, [end]: value })}
          />
        ))}
        <Button type="submit" size="xs" disabled={!isValid}>
          Show
        </Button>
      </Stack>
    </form>
  )
}
