// The margin of the usage page: its part of the revenue, and the requests that it leaves out.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { marginShare, unknownCost } from '../../web/src/pages/usage/margin-share.ts'

test('the margin is a part of what the requests with a known cost were sold for', () => {
  assert.equal(marginShare('0.000666', '0.000444'), '60.0 %')
  assert.equal(marginShare('-0.5', '1'), '−100 %')
  assert.equal(marginShare('0', '0'), '')
})

test('requests without a known cost are counted over all groups', () => {
  const groups = [2, 0, 1].map(requests_without_upstream_cost => ({ requests_without_upstream_cost }))

  assert.equal(unknownCost(groups), 'cost unknown for 3 requests')
  assert.equal(unknownCost(groups.slice(2)), 'cost unknown for 1 request')
  assert.equal(unknownCost([]), '')
})
