// How the dashboard looks: Mantine's components, system fonts, and colours with enough contrast to be read in light and dark.
import { type CSSVariablesResolver, createTheme, Modal, Table, Tooltip } from '@mantine/core'

const MONO = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace'

export const theme = createTheme({
  primaryColor: 'indigo',
  primaryShade: { light: 7, dark: 7 },
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: MONO,
  headings: { fontWeight: '600', sizes: { h1: { fontSize: '1.35rem' }, h2: { fontSize: '1rem' } } },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Table: Table.extend({ defaultProps: { verticalSpacing: 7, horizontalSpacing: 'sm', fz: 'sm' } }),
    Modal: Modal.extend({ defaultProps: { centered: true, overlayProps: { backgroundOpacity: 0.45 } } }),
    Tooltip: Tooltip.extend({ defaultProps: { openDelay: 250, events: { hover: true, focus: true, touch: true } } }),
  },
})

const TINTS = ['red', 'orange', 'yellow', 'green', 'teal', 'blue', 'indigo', 'gray', 'grape']

// Mantine's own grey and tinted texts are too faint for small print.
export const resolveVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-body': '#fafbfc',
    '--mantine-color-text': '#1b2028',
    '--mantine-color-dimmed': '#556070',
    '--mantine-color-placeholder': '#667080',
    '--mantine-color-error': 'var(--mantine-color-red-9)',
    '--mantine-color-anchor': 'var(--mantine-color-indigo-8)',
    '--panel': '#fff',
    '--panel-border': '#e4e8ee',
    ...tintsOf('9'),
  },
  dark: {
    '--mantine-color-body': '#14171c',
    '--mantine-color-text': '#dfe3ea',
    '--mantine-color-dimmed': '#a2abba',
    '--mantine-color-placeholder': '#8d97a8',
    '--mantine-color-error': 'var(--mantine-color-red-4)',
    '--mantine-color-anchor': 'var(--mantine-color-indigo-3)',
    '--panel': '#1b1f26',
    '--panel-border': '#2c323c',
    ...tintsOf('2'),
  },
})

function tintsOf(shade: string): Record<string, string> {
  return Object.fromEntries(
    TINTS.map(tint => [`--mantine-color-${tint}-light-color`, `var(--mantine-color-${tint}-${shade})`]),
  )
}
