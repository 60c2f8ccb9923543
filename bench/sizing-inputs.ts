// The measured figures of the sizing table, in one place: replace them by those of your own machine with `npm run sizing --
// --measure` and `npm run bench -- --scale`.

// The total database cost of one chat: reservation, settlement, and its share of balances, leases and vacuum.
export type PostgresInputs = {
  // For a node under full load, where many share one.
  readonly transactions: number
  readonly rowsWritten: number
  readonly walBytes: number
  readonly diskBytes: number
  readonly cpuUs: number
}

export type Inputs = {
  // Per node, JSON chats, with Postgres and Redis.
  readonly nodeCpuUs: number
  // Per node, a stream of 50 chunks.
  readonly nodeStreamCpuUs: number
  readonly postgres: PostgresInputs
  // How long a node's transaction takes, with its fsync and the round trip; the next one collects meanwhile.
  readonly batchMs: number
  readonly redisOps: number
  readonly redisCpuUs: number
  // The planned utilisation of a core, so that a node may fail and a peak may come.
  readonly utilisation: number
  // The maximum for one Postgres and one Redis.
  readonly postgresCoresMax: number
  readonly postgresWalBytesMax: number
  readonly redisCoresMax: number
}

export const INPUTS: Inputs = {
  // `TMPDIR=/dev/shm npm run bench -- --scale`, one node, the slowest of four runs.
  nodeCpuUs: 136,
  nodeStreamCpuUs: 404,
  // `TMPDIR=/dev/shm npm run sizing -- --measure`, 64 at once, 8 accounts, Postgres 15; CPU of the slowest of four runs.
  postgres: { transactions: 0.093, rowsWritten: 3.1, walBytes: 2250, diskBytes: 920, cpuUs: 188 },
  batchMs: 3,
  redisOps: 1,
  // redis-benchmark with the bucket script, while other programs kept both cores busy.
  redisCpuUs: 37,
  utilisation: 0.6,
  postgresCoresMax: 64,
  postgresWalBytesMax: 500e6,
  redisCoresMax: 1,
}
