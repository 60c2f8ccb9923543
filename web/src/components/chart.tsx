// A panel with a chart, a text alternative for screen readers, and the same numbers as a table on demand.
import '@mantine/charts/styles.css'
import { ActionIcon, Box, Group, Paper, Table, Text, Tooltip } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconChartLine, IconTable } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import type { Point } from './chart-point.ts'
import { Panel } from './panel.tsx'
import { TableFrame } from './table-frame.tsx'

export type Figure = {
  readonly name: string
  readonly label: string
  readonly color: string
  // The exact value of a point as text; its height on the chart is approximate.
  readonly write: (point: Point) => string
}

export type ChartPanelProps = {
  readonly title: string
  // Shown above the chart.
  readonly total: ReactNode
  readonly summary: string
  readonly points: readonly Point[]
  readonly figures: readonly Figure[]
  readonly timeOf: (at: string) => string
  readonly children: ReactNode
}

export function ChartPanel(props: ChartPanelProps): ReactNode {
  const [isTable, view] = useDisclosure(false)
  const { title, total, summary, points, figures, timeOf, children } = props
  const words = isTable ? `${title}: show chart` : `${title}: show as table`
  return (
    <Panel
      title={title}
      about={total}
      hasIcon
      actions={
        <Tooltip label={isTable ? 'Chart' : 'Table'}>
          <ActionIcon variant="subtle" color="gray" onClick={view.toggle} aria-label={words}>
            {isTable ? <IconChartLine size={17} /> : <IconTable size={17} />}
          </ActionIcon>
        </Tooltip>
      }
    >
      {isTable ? (
        <Box h={180} style={{ overflowY: 'auto' }}>
          <TableFrame
            label={title}
            hasCards={false}
            columns={[{ name: 'Time' }, ...figures.map(({ label }) => ({ name: label, isRight: true }))]}
          >
            {points.toReversed().map(point => (
              <Table.Tr key={point.at}>
                <Table.Td className="number">{timeOf(point.at)}</Table.Td>
                {figures.map(figure => (
                  <Table.Td key={figure.name} className="right number">
                    {figure.write(point)}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </TableFrame>
        </Box>
      ) : (
        <Box role="img" aria-label={`${title}. ${summary}`}>
          {children}
        </Box>
      )}
    </Panel>
  )
}

type Payload = readonly { readonly payload?: Point }[] | undefined

// Renders the tooltip; recharts passes more than the point, which is all that is used.
export function pointTooltip(figures: readonly Figure[], timeOf: (at: string) => string) {
  return ({ payload }: { readonly payload?: unknown }): ReactNode => {
    const point = (payload as Payload)?.[0]?.payload
    if (point === undefined) return null
    return (
      <Paper withBorder shadow="sm" px="sm" py={6} bg="var(--panel)">
        <Text size="xs" c="dimmed">
          {timeOf(point.at)}
        </Text>
        {figures.map(figure => (
          <Group key={figure.name} gap="xs" justify="space-between" wrap="nowrap">
            <Group gap={6} wrap="nowrap">
              <Box w={8} h={8} bdrs={8} bg={figure.color} />
              <Text size="xs">{figure.label}</Text>
            </Group>
            <Text size="xs" fw={600} className="number">
              {figure.write(point)}
            </Text>
          </Group>
        ))}
      </Paper>
    )
  }
}

// The options that all charts share. Animations are off because they would restart with every refresh.
export const CHART = {
  h: 180,
  dataKey: 'at',
  gridAxis: 'x',
  tickLine: 'none',
  withLegend: false,
} as const
