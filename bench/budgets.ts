// What budgets cost: a key without any, and one with two that are checked and booked with every chat.
import { CHAT, type DialectContestant } from './dialects.ts'
import { ROOT, startTurnpike, UNLIMITED } from './turnpike.ts'

const BUDGETS = [
  { amount: '1000000', window: 'month' },
  { amount: '1000000', window: 'day' },
]

export const BUDGETED: readonly DialectContestant[] = [
  { name: CHAT, dialect: 'chat', ratioMax: undefined, start: place => startTurnpike(place) },
  {
    name: 'chat, two budgets',
    dialect: 'chat',
    ratioMax: 1.08,
    start: place => startTurnpike(place, {}, 'contestant', ROOT, { ...UNLIMITED, budgets: BUDGETS }),
  },
]
