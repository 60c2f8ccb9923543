// How the dashboard looks: Mantine's components, system fonts, and colours with enough contrast to be read in light and dark.
import { type CSSVariablesResolver, createTheme, Modal, Table, Tooltip } from '@mantine/core'

const MONO = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace'

// Mantine's greys are neutral; these are a little blue, like the rest.
const DARK = [
  '#dfe3ea',
  '#b4bccb',
  '#8d97a8',
  '#5b6472',
  '#39414d',
  '#2c323c',
  '#232931',
  '#1b1f26',
  '#14171c',
  '#0f1216',
] as const

export const theme = createTheme({
  colors: { dark: DARK },
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
    Modal: Modal.extend({
      defaultProps: {
        centered: true,
        overlayProps: { backgroundOpacity: 0.45 },
        closeButtonProps: { 'aria-label': 'Close' },
      },
    }),
    Tooltip: Tooltip.extend({ defaultProps: { openDelay: 250, events: { hover: true, focus: true, touch: true } } }),
  },
})

// Text on a tinted ground, dark enough for light and light enough for dark.
const TINTS: Readonly<Record<string, string>> = {
  red: '#a51d1d',
  orange: '#93390a',
  yellow: '#7a4f00',
  green: '#1f6b32',
  teal: '#0b6650',
  blue: '#175a94',
  indigo: '#2f45a8',
  gray: '#39414d',
  grape: '#862e9c',
}

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
    ...tintsOf('light'),
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
    ...tintsOf('dark'),
  },
})

function tintsOf(scheme: 'light' | 'dark'): Record<string, string> {
  return Object.fromEntries(
    Object.entries(TINTS).flatMap(([tint, text]) =>
      scheme === 'light'
        ? [
            [`--mantine-color-${tint}-light-color`, text],
            [`--mantine-color-${tint}-light`, `var(--mantine-color-${tint}-0)`],
          ]
        : [
            [`--mantine-color-${tint}-light-color`, `var(--mantine-color-${tint}-2)`],
            // Mantine's own are as bright as a button.
            [`--mantine-color-${tint}-light`, `color-mix(in srgb, var(--mantine-color-${tint}-7) 24%, var(--panel))`],
          ],
    ),
  )
}
