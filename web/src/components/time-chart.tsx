// A chart over time: bars, areas or lines with round axes. Dragging over it, or a click on a point, zooms in.
import { AreaChart, BarChart, LineChart } from '@mantine/charts'
import { useMediaQuery } from '@mantine/hooks'
import { type ReactNode, useMemo, useRef, useState } from 'react'
import { CHART, type Figure, pointTooltip } from './chart.tsx'
import { pointLabel, type Step, tickLabel, timeTicks, type ValueAxisOptions, valueAxis } from './chart-axes.ts'
import type { Point } from './chart-point.ts'
import { useZone } from './zone.ts'

export type TimeChartProps = {
  readonly kind: 'bars' | 'area' | 'lines'
  readonly points: readonly Point[]
  readonly figures: readonly Figure[]
  readonly step: Step
  // The zone of the points, where it is not the chosen one.
  readonly zone?: string
  readonly isStacked?: boolean
  readonly axis?: ValueAxisOptions
  readonly axisLabel: (value: number) => string
  readonly axisWidth?: number
  readonly h?: number
  // Further figures of the tooltip, which are not drawn.
  readonly more?: readonly Figure[]
  readonly onZoom?: (first: string, last: string) => void
}

// Without a dot, a point without neighbours would be invisible.
const DOT = { r: 2, strokeWidth: 1 } as const
// Animations would restart with every refresh.
const STILL = { isAnimationActive: false } as const

export function TimeChart(props: TimeChartProps): ReactNode {
  const {
    kind,
    points,
    figures,
    step,
    isStacked = false,
    axis,
    axisLabel,
    axisWidth = 56,
    h = CHART.h,
    more = [],
  } = props
  const chosen = useZone()
  const zone = props.zone ?? chosen
  const { domain, ticks } = valueAxis(highest(points, figures, isStacked), axis)
  const labelsMax = useMediaQuery('(max-width: 30em)') ? 4 : 6
  const times = useMemo(() => timeTicks(points, step, zone, labelsMax), [points, step, zone, labelsMax])
  const zoom = useZoom(props.onZoom)
  const shared = {
    ...CHART,
    h,
    data: points as Point[],
    series: figures.map(({ name, label, color }) => ({ name, label, color })),
    valueFormatter: axisLabel,
    // All of them: recharts would leave out or move labels that it considers too close.
    yAxisProps: { domain: [...domain], ticks: [...ticks], interval: 0 as const, width: axisWidth },
    xAxisProps: { ticks: times, interval: 0 as const, tickFormatter: (at: string) => tickLabel(at, step, zone) },
    tooltipProps: { content: pointTooltip([...figures, ...more], at => pointLabel(at, step, zone)) },
    referenceAreas: zoom.areas,
    style: props.onZoom === undefined ? {} : { cursor: 'zoom-in', userSelect: 'none' as const },
  }
  const type = isStacked ? 'stacked' : 'default'
  if (kind === 'bars') {
    return <BarChart {...shared} type={type} barProps={STILL} barChartProps={{ ...zoom.handlers, margin: MARGIN }} />
  }
  if (kind === 'area') {
    return (
      <AreaChart
        {...shared}
        type={type}
        curveType="linear"
        withDots={false}
        areaProps={STILL}
        areaChartProps={{ ...zoom.handlers, margin: MARGIN }}
      />
    )
  }
  return (
    <LineChart
      {...shared}
      curveType="linear"
      dotProps={DOT}
      connectNulls={false}
      lineProps={STILL}
      lineChartProps={{ ...zoom.handlers, margin: MARGIN }}
    />
  )
}

// Room for half of the highest and of the last label.
const MARGIN = { top: 8, right: 18 } as const

function highest(points: readonly Point[], figures: readonly Figure[], isStacked: boolean): number {
  let max = 0
  for (const point of points) {
    const values = figures.map(({ name }) => Number(point[name] ?? 0))
    max = Math.max(max, isStacked ? values.reduce((sum, value) => sum + value, 0) : Math.max(...values))
  }
  return max
}

type Hovered = { readonly activeLabel?: string | number | undefined }

// From where the pointer was pressed to where it is now. In a reference, since events may come faster than renders.
function useZoom(onZoom: TimeChartProps['onZoom']) {
  const pressed = useRef<string | undefined>(undefined)
  const [area, setArea] = useState<readonly [from: string, to: string]>()
  if (onZoom === undefined) return { handlers: {}, areas: [] }
  const end = () => {
    pressed.current = undefined
    setArea(undefined)
  }
  return {
    handlers: {
      onMouseDown: ({ activeLabel: at }: Hovered) => {
        pressed.current = at === undefined ? undefined : String(at)
      },
      onMouseMove: ({ activeLabel: at }: Hovered) => {
        if (pressed.current !== undefined && at !== undefined) setArea([pressed.current, String(at)])
      },
      onMouseUp: ({ activeLabel: at }: Hovered) => {
        const [first, last] = [pressed.current, at]
          .filter(each => each !== undefined)
          .map(String)
          .sort()
        end()
        if (first !== undefined) onZoom(first, last ?? first)
      },
      onMouseLeave: end,
    },
    areas: area === undefined || area[0] === area[1] ? [] : [{ x1: area[0], x2: area[1], color: 'indigo.2' }],
  }
}
