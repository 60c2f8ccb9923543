// The portal's theme: whatever colour an operator chooses, text in it can be read in light and in dark mode.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brandTheme, brandVariables, contrast } from '../../web/src/portal/brand-theme.ts'

const COLORS = ['#ffd43b', '#ffffff', '#000000', '#1f6feb', '#0b7285', '#ff00ff', '#7f7f7f', '#00ff00']

for (const color of COLORS) {
  test(`links in ${color} have enough contrast`, () => {
    const { light, dark } = brandVariables(color)({} as never)

    assert.ok(contrast(light['--mantine-color-anchor'] ?? '', '#ffffff') >= 4.5)
    assert.ok(contrast(dark['--mantine-color-anchor'] ?? '', '#1b1f26') >= 4.5)
  })

  test(`text on ${color} is black or white, whichever can be read`, () => {
    const { colors, luminanceThreshold = 0, primaryColor } = brandTheme(color)
    const [black, white] = [contrast(color, '#000000'), contrast(color, '#ffffff')]
    const luminance = black * 0.05 - 0.05

    assert.equal(primaryColor, 'brand')
    assert.equal(colors?.brand?.[7], color)
    assert.ok((luminance > luminanceThreshold ? black : white) >= 4.5)
  })
}

test('without a colour the theme is that of the dashboard', () => {
  assert.equal(brandTheme(null).primaryColor, 'indigo')
})
