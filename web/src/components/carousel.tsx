// Slides side by side, one at a time: swiped, scrolled by keyboard or chosen with the buttons below, which tell the one in view.
import { ActionIcon, Group, Text, UnstyledButton, VisuallyHidden } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react'
import { type ReactNode, useRef, useState } from 'react'
import classes from './carousel.module.css'

export type CarouselProps = {
  readonly label: string
  // What one slide is.
  readonly noun: string
  // One for each slide.
  readonly titles: readonly string[]
  readonly children: readonly ReactNode[]
}

// Where there is no room for slides side by side.
export function useIsPhone(): boolean {
  return useMediaQuery('(max-width: 48em)', false, { getInitialValueInEffect: false })
}

export function Carousel({ label, noun, titles, children }: CarouselProps): ReactNode {
  const scroller = useRef<HTMLOListElement>(null)
  const [current, setCurrent] = useState(0)
  // Where the buttons scroll to, so that a second press before it arrives is one slide further.
  const target = useRef<number>(undefined)
  const forget = () => {
    target.current = undefined
  }
  const go = (index: number) => {
    if (scroller.current === null || titles[index] === undefined) return
    target.current = index
    scroller.current.scrollTo({ left: index * scroller.current.clientWidth })
  }
  const step = (name: string, by: number, icon: ReactNode) => (
    <ActionIcon
      variant="transparent"
      className={classes.step}
      color="gray"
      size="lg"
      aria-label={`${name} ${noun}`}
      // At the end it keeps the focus.
      aria-disabled={titles[current + by] === undefined}
      {...(titles[current + by] === undefined ? { 'data-disabled': true } : {})}
      onClick={() => go((target.current ?? current) + by)}
    >
      {icon}
    </ActionIcon>
  )
  return (
    <section aria-label={label} aria-roledescription="carousel">
      <ol
        ref={scroller}
        className={classes.slides}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
        tabIndex={0}
        aria-label={`${label}, side by side`}
        onScroll={({ currentTarget: { scrollLeft, clientWidth } }) =>
          setCurrent(Math.round(scrollLeft / Math.max(1, clientWidth)))
        }
        onScrollEnd={forget}
        // A swipe, also in browsers without that event.
        onPointerDown={forget}
      >
        {children.map((slide, index) => (
          <li key={titles[index]} className={classes.slide}>
            {slide}
          </li>
        ))}
      </ol>
      <Group gap="xs" justify="center" wrap="nowrap" mt={4}>
        {step('Previous', -1, <IconChevronLeft size={18} />)}
        {titles.map((title, index) => (
          <UnstyledButton
            key={title}
            className={classes.dot}
            aria-label={`Show ${title}`}
            {...(index === current ? { 'aria-current': true as const } : {})}
            onClick={() => go(index)}
          />
        ))}
        <Text size="xs" c="dimmed" className="number" role="status">
          <VisuallyHidden>{titles[current]}, </VisuallyHidden>
          {current + 1} of {titles.length}
        </Text>
        {step('Next', 1, <IconChevronRight size={18} />)}
      </Group>
    </section>
  )
}
