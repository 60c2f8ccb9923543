// The figures of requests and tokens, which the charts of the dashboard and of the portal share.
import { count } from '../../format/numbers.ts'
import type { Figure } from '../chart.tsx'

export const REQUESTS: readonly Figure[] = [
  { name: 'served', label: 'Successful', color: 'indigo.5', write: p => count(Number(p.served)) },
  { name: 'errors', label: 'Errors', color: 'red.7', write: p => count(Number(p.errors)) },
]
export const TOKENS: readonly Figure[] = [
  { name: 'prompt', label: 'Prompt', color: 'blue.5', write: p => count(Number(p.prompt)) },
  { name: 'completion', label: 'Completion', color: 'grape.5', write: p => count(Number(p.completion)) },
]
