// The measured figures that the sizing table is computed from, each in this one place: replace them by your own machine's
// with `npm run sizing -- --measure` and `npm run bench -- --scale`.

// What one chat costs the database, all of it: the gate, the settlement, and its share of balances, leases and vacuum.
export type PostgresInputs = {
  // Of a node under full load, where many share one.
  readonly transactions: number
  readonly rowsWritten: number
  readonly walBytes: number
  readonly diskBytes: number
  readonly cpuUs: number
}

export type Inputs = {
  // Of one node, JSON chats, with Postgres and Redis.
  readonly nodeCpuUs: number
  // Of one node, a stream of 50 chunks.
  readonly nodeStreamCpuUs: number
  readonly postgres: PostgresInputs
  // How long a node's transaction takes, with its fsync and the way there and back; the next gathers meanwhile.
  readonly batchMs: number
  readonly redisOps: number
  readonly redisCpuUs: number
  // How much of a core is planned with, so that a node may fail and a peak may come.
  readonly utilisation: number
  // What one Postgres and one Redis may have at most.
  readonly postgresCoresMax: number
  readonly postgresWalBytesMax: number
  readonly redisCoresMax: number
}

export const INPUTS: Inputs = {
  // `TMPDIR=/dev/shm npm run bench -- --scale`, one node, the slowest of four runs.
  nodeCpuUs: 136,
  nodeStreamCpuUs: 404,
  // `TMPDIR=/dev/shm npm run sizing -- --measure`, 64 at once, 8 accounts, Postgres 15; CPU of the slowest of four runs.
  postgres: { transactions: 0.111, rowsWritten: 4.2, walBytes: 2650, diskBytes: 1200, cpuUs: 188 },
  batchMs: 3,
  redisOps: 1,
  // redis-benchmark with the script of the buckets, while other programs kept both cores busy.
  redisCpuUs: 37,
  utilisation: 0.6,
  postgresCoresMax: 64,
  postgresWalBytesMax: 500e6,
  redisCoresMax: 1,
}
