// The dashboard's theme with the operator's colour. Whatever the colour is, texts in it and on it have enough contrast to be read.
import { type CSSVariablesResolver, createTheme, type MantineColorsTuple, mergeThemeOverrides } from '@mantine/core'
import { resolveVariables, theme } from '../theme.ts'

const WHITE = '#ffffff'
const BLACK = '#000000'
// Of the text on a page, by WCAG.
const CONTRAST_MIN = 4.6
// Lighter grounds have black text, darker ones white: at this luminance both have the same contrast.
const LUMINANCE_THRESHOLD = 0.179
const GROUNDS = { light: '#eef1f5', dark: '#2c323c' } as const

export function brandTheme(color: string | null): ReturnType<typeof createTheme> {
  const own = { autoContrast: true, luminanceThreshold: LUMINANCE_THRESHOLD }
  if (color === null) return mergeThemeOverrides(theme, createTheme(own))
  const brand = createTheme({ ...own, colors: { brand: shadesOf(color) }, primaryColor: 'brand' })
  return mergeThemeOverrides(theme, brand)
}

export function brandVariables(color: string | null): CSSVariablesResolver {
  return resolved => {
    const { variables, light, dark } = resolveVariables(resolved)
    if (color === null) return { variables, light, dark }
    const texts = (scheme: 'light' | 'dark') => {
      const text = readableOn(color, GROUNDS[scheme], scheme === 'light' ? BLACK : WHITE)
      return { '--mantine-color-anchor': text, '--mantine-color-brand-light-color': text }
    }
    return { variables, light: { ...light, ...texts('light') }, dark: { ...dark, ...texts('dark') } }
  }
}

// The theme fills buttons with the shade 7.
function shadesOf(color: string): MantineColorsTuple {
  const tints = [0.92, 0.84, 0.72, 0.58, 0.42, 0.26, 0.12].map(share => mixed(color, WHITE, share))
  return [...tints, color, mixed(color, BLACK, 0.15), mixed(color, BLACK, 0.3)] as unknown as MantineColorsTuple
}

// The colour, mixed with another one as little as is needed.
function readableOn(color: string, ground: string, towards: string): string {
  for (let share = 0; share < 1; share += 0.05) {
    const text = mixed(color, towards, share)
    if (contrast(text, ground) >= CONTRAST_MIN) return text
  }
  return towards
}

export function contrast(a: string, b: string): number {
  const [light = 0, dark = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x)
  return (light + 0.05) / (dark + 0.05)
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = partsOf(color).map(part => {
    const value = part / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function mixed(color: string, other: string, share: number): string {
  const [a, b] = [partsOf(color), partsOf(other)]
  return `#${a.map((part, i) => hex(part * (1 - share) + (b[i] ?? 0) * share)).join('')}`
}

function partsOf(color: string): readonly number[] {
  return [1, 3, 5].map(at => Number.parseInt(color.slice(at, at + 2), 16))
}

function hex(part: number): string {
  return Math.round(part).toString(16).padStart(2, '0')
}
