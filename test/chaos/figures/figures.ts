// The multi-node figures, by name.
import type { Figure } from './figure.ts'
import { killNodes } from './kill-nodes.ts'
import { limitNodes } from './limit-nodes.ts'
import { overdraw } from './overdraw.ts'
import { revokeNodes } from './revoke-nodes.ts'
import { rollNodes } from './roll-nodes.ts'

export const FIGURES: readonly Figure[] = [killNodes, overdraw, limitNodes, revokeNodes, rollNodes]
