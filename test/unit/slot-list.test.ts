// Items of a slot list are those that were added and not removed, whatever the order, and a removal has an effect once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slotList } from '../../src/lib/slot-list.ts'
import { chance } from '../support/simulated-targets.ts'

test('a slot list holds what was added and not removed, in any order of additions and repeated removals', () => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = chance(seed)
    const list = slotList<number>()
    const expected = new Set<number>()
    const removals: { readonly item: number; readonly remove: () => void }[] = []
    for (let item = 0; item < 200; item++) {
      removals.push({ item, remove: list.add(item) })
      expected.add(item)
      // One of all that were ever added: some are removed again and again, after others have taken their slots.
      while (random() < 0.5) {
        const removal = removals[Math.floor(random() * removals.length)]!
        removal.remove()
        expected.delete(removal.item)
      }
      assert.equal(list.size, expected.size)
    }

    assert.deepEqual(new Set(list), expected)
  }
})
