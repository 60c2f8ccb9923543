// Gateway options that give a gateway other bounds than its own.
import type { Bounds } from '../../src/config-bounds.ts'
import type { GatewayOptions } from './gateway.ts'

export function withBounds(bounds: Partial<Bounds>): Pick<GatewayOptions, 'nodeArgs' | 'env'> {
  return {
    nodeArgs: ['--import', new URL('./bounds-preload.ts', import.meta.url).href],
    env: { TEST_BOUNDS: JSON.stringify(bounds) },
  }
}
