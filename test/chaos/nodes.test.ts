// The multi-node figures on Postgres and Redis, at their small size. `npm run chaos` runs them at any size.
import { test } from 'node:test'
import { hasPostgres } from '../support/postgres.ts'
import { hasRedis } from '../support/redis.ts'
import { chance } from '../support/simulated-targets.ts'
import { FIGURES } from './figures/figures.ts'

if (hasPostgres() && hasRedis()) {
  for (const figure of FIGURES) {
    test(`${figure.name}, ${figure.small} ${figure.unit}: ${figure.about}: none`, async t => {
      const result = await figure.run({ size: figure.small, random: chance(1), say: () => undefined })

      t.diagnostic(JSON.stringify(result))
    })
  }
}
