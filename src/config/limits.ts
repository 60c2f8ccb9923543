// The bounds of the process in one table, each with its unit in its name: those that an operator or a test may want to change. A
// limit of one noun (a schema's maximum) or of one tool (a buffer) is defined where it is used.
import type { Timeouts } from '../domain/catalog.ts'

const KIB = 1024
const MIB = 1024 * KIB
const SECOND = 1000
const MINUTE = 60 * SECOND

const TABLE = {
  // HTTP
  bodyBytesMax: 16 * MIB,
  headersMax: 100,
  headerBytesMax: 16 * KIB,
  jsonDepthMax: 32,
  headersTimeoutMs: 10 * SECOND,
  requestTimeoutMs: 30 * SECOND,
  // How often Node checks for connections beyond the two above.
  connectionsCheckMs: 1 * SECOND,
  refusedBodyBytesMax: 1 * MIB,
  refusedBodyWaitMs: 2 * SECOND,
  // The kernel's queue of connections not accepted yet.
  backlogMax: 4096,
  // Client connections: at most half of the descriptors that are left after reserving some for files, threads and the store,
  // since each may need one to an upstream too.
  connectionsMax: 65_536,
  descriptorsReserved: 96,
  // The share of one address, unless it is a trusted proxy.
  connectionsPerAddressPercentMax: 75,
  // Additional connections on a listener for operators alone.
  adminConnectionsReserved: 16,
  refusedConnectionsMax: 16,

  // Isolation between tenants
  bodiesInMemoryBytesMax: 256 * MIB,
  // One account may use at most this fraction (1/n) of the bodies' memory.
  bodiesPerAccountShare: 4,
  // On Postgres many are one statement, so as many as one statement holds may be looked up at once.
  unknownKeyLookupsMax: 32,
  unknownKeyLookupsTogetherMax: 256,
  // Each is a connection that waits for its answer: a flood must not fill the queue for valid keys of its address.
  unknownKeyLookupsWaitingMax: 32_768,
  unknownKeyLookupsWaitingPerAddressMax: 8_192,
  unknownKeysCachedMax: 50_000,
  unknownKeyCacheMs: 1 * SECOND,
  addressFailuresPerMinute: 600,
  addressesTrackedMax: 100_000,
  // About 1 kB each.
  keysCachedMax: 20_000,
  // Keys with long lists of addresses or models: up to 150 kB each.
  longKeysCachedMax: 500,
  // Allowances for refusals that cost no rpm token: 402s per minute, or the key's own limit if that is more; and rows of refusals
  // per second. Further refusals are counted, and the counts written once a minute.
  unpaidPerMinuteMin: 6_000,
  refusalRowsPerSecond: 10,
  refusalsCountedForMs: 1 * MINUTE,
  refusalCountsMax: 10_000,
  // Lists of usage: how many are read at once for all keys, how many may wait, and how many rows one page may examine.
  usageListsAtOnceMax: 2,
  usageListsWaitingMax: 256,
  usageListsPerAccountWaitingMax: 4,
  usageRowsLookedAtMax: 10_000,
  // For an operator's report that no sums help with: by cost, or by error code.
  reportRowsMax: 100_000,

  // A chat
  // The smallest cap that a low balance may impose; below it the request gets 402.
  outputCapMinTokens: 256,
  // Counting a prompt whose bytes the account cannot afford: time limit, maximum size, concurrent counts per account, and the
  // thread's time per account and minute.
  holdCountMsMax: 200,
  holdCountBytesMax: 2 * MIB,
  holdCountsPerAccountMax: 16,
  holdCountMsPerMinute: 6 * SECOND,
  // The assumed answer length of a quote where the caller names no maximum.
  quotedOutputTokens: 512,

  // Upstreams
  attemptsMax: 3,
  answerBytesMax: 32 * MIB,
  // For protocols spoken by packages, which parse on the event loop.
  packageAnswerBytesMax: 4 * MIB,
  // Memory of whole answers, and the fraction (1/n) for one account. A small answer is not counted and never waits.
  answersInMemoryBytesMax: 160 * MIB,
  answersPerAccountShare: 4,
  answerUncountedBytesMax: 64 * KIB,
  // An answer above either is read in a separate thread, within the time that follows.
  answerInlineBytesMax: 1 * MIB,
  answerInlineMembersMax: 20_000,
  answerReadMsMax: 10 * SECOND,
  sseEventBytesMax: 1 * MIB,
  // How long an upstream may keep its connection open after [DONE].
  endAfterDoneMs: 2 * SECOND,
  connectionsPerProviderMax: 16_384,

  // Routing
  // Consecutive failures that open a target's breaker, or the failure rate of the recent window, once there are enough requests.
  breakerFailuresInARowMax: 10,
  breakerErrorPercentMax: 50,
  breakerRequestsMin: 20,
  breakerWindowMs: 15 * SECOND,
  // How long it stays open; doubled each time until the target is healthy again.
  breakerOpenMs: 5 * SECOND,
  breakerOpenMsMax: 30 * SECOND,
  // With all targets of a model open, one request per interval is sent. The accounts that sent requests within the second time
  // take turns, up to that many accounts.
  lastResortEveryMs: 1 * SECOND,
  lastResortAskedMs: 10 * SECOND,
  lastResortAccountsMax: 256,
  // The maximum Retry-After that is honoured, and how long a credential is limited without one.
  retryAfterMsMax: 5 * MINUTE,
  limitedMsDefault: 1 * SECOND,
  // Retries: a share of the requests of the last seconds, and a reserve that the accounts share.
  retryPercentMax: 20,
  retryReserveMax: 10,
  retryWindowSeconds: 10,
  retryAccountSeenMs: 10 * MINUTE,
  retryAccountsMax: 10_000,
  retryAccountsPrunedEveryMs: 30 * SECOND,
  // Probes of upstreams.
  probeTimeoutMs: 10 * SECOND,
  probesAtOnceMax: 64,
  probeEveryMs: 5 * SECOND,
  deadCredentialProbedEveryMs: 1 * MINUTE,
  targetsMaintainedEveryMs: 1 * SECOND,

  // A stream to the client
  keepAliveAfterMs: 10 * SECOND,
  headersLeaveAfterMs: 15 * SECOND,
  writeStallMs: 60 * SECOND,

  // Settlement
  settleWaitMs: 2 * SECOND,
  checkpointFirstMs: 1 * SECOND,
  checkpointEveryMs: 5 * SECOND,
  readOnAfterFinishMs: 30 * SECOND,
  estimateTimeoutMs: 2 * SECOND,
  sweepEveryMs: 5 * SECOND,
  // How long the store may take for what a request waits for, before it counts as unavailable; at most half of a node's lease.
  gateWaitMsMax: 10 * SECOND,
  firstSweepTriesMax: 20,
  firstSweepPauseMs: 500,

  // Nodes that share a database
  // A node that has not swept for this long counts as dead.
  nodeLeaseMs: 20 * SECOND,
  // How often a node polls for changes by others: a catalog change is in force everywhere within a second.
  clusterChangesEveryMs: 400,
  nodesClearedEveryMs: 60 * MINUTE,
  // Redis
  redisCommandMsMax: 250,
  redisConnectMsMax: 2 * SECOND,
  // After this many unanswered commands in a row it is unavailable, and retried in the background.
  redisFailuresInARowMax: 3,
  redisRetryMsMin: 100,
  redisRetryMsMax: 2 * SECOND,
  redisPingEveryMs: 1 * SECOND,
  redisCommandsWaitingMax: 20_000,

  // Webhooks
  webhooksMax: 50,
  // For the whole exchange, and how much of an answer is read.
  webhookTimeoutMs: 10 * SECOND,
  webhookAnswerBytesMax: 64 * KIB,
  // The pause after the first failure; doubled with every further one up to the second. Beyond the third the endpoint is disabled.
  webhookRetryMsMin: 5 * SECOND,
  webhookRetryMsMax: 30 * MINUTE,
  webhookRetriedForMs: 3 * 24 * 60 * MINUTE,
  // The maximum Retry-After that is honoured.
  webhookRetryAfterMsMax: 60 * MINUTE,
  // Endpoints that a node delivers to at once; each has one exchange at a time.
  webhooksAtOnceMax: 8,
  // Longer than an exchange: a node that has not reported for this long has lost the endpoint to another one.
  webhookLeaseMs: 30 * SECOND,
  // How often a node looks for events of other nodes: with webhooks, and without any.
  webhooksPolledEveryMs: 2 * SECOND,
  webhooksIdlePolledEveryMs: 10 * SECOND,
  // How long a drain waits for exchanges under way.
  webhookDrainMsMax: 2 * SECOND,
  webhookEventsKeptMs: 40 * 24 * 60 * MINUTE,
  webhookDeliveriesKeptMs: 30 * 24 * 60 * MINUTE,
  webhookDeliveriesKeptMax: 10_000,
  // More than this many waiting events disable an endpoint that fails.
  webhookWaitingMax: 100_000,

  // The check for a newer version, where a URL is configured.
  updateCheckEveryMs: 24 * 60 * MINUTE,
  updateCheckTimeoutMs: 10 * SECOND,
  updateCheckBytesMax: 64 * KIB,

  // The admin API
  adminBodyBytesMax: 1 * MIB,
  operatorsMax: 1000,
  // Beyond this, the operator's oldest session ends.
  sessionsPerOperatorMax: 100,
  // The customer portal: beyond these, the account's oldest unused link or session ends.
  portalLinksPerAccountMax: 100,
  portalSessionsPerAccountMax: 100,
  // Changes of one account on a node, and its reports that wait: a page reads several at once.
  portalChangesPerMinute: 60,
  portalReportsWaitingMax: 16,
  // How often passed ends of keys, old secrets and sessions are stored.
  keyEndsEveryMs: 1 * SECOND,
  // How often there is a check for roll-ups and retention, and the pause between two steps where there is more to do.
  maintenanceEveryMs: 1 * MINUTE,
  maintenancePauseMs: 50,
  // An hour is rolled up this long after its end: by then hardly any of its rows is still to come.
  rolledUpAfterMs: 5 * MINUTE,
  usageRetentionDaysMax: 3650,

  // The configuration file
  configBytesMax: 1 * MIB,
  configAliasesMax: 100,
  configAliasesInAllMax: 1000,
  providersMax: 1000,
  modelsMax: 10_000,
  targetsPerModelMax: 64,
  credentialsPerProviderMax: 64,
  namesPerListMax: 256,
  trustedProxiesMax: 1000,

  // Workers
  // The delay before a worker that exited is restarted: from the first to the second, doubled each time, and reset for one that
  // had run for the third.
  workerRestartMsMin: 200,
  workerRestartMsMax: 10 * SECOND,
  workerSteadyAfterMs: 1 * MINUTE,

  // Metrics of the store: how many accounts and budgets, how often they and its state are read at most, how long a scrape waits,
  // and how long values are shown that cannot be read again.
  gaugesMax: 1000,
  gaugesReadEveryMs: 15 * SECOND,
  gaugesWaitMsMax: 1 * SECOND,
  gaugesKeptMs: 5 * MINUTE,
  storeCheckedEveryMs: 5 * SECOND,
  // The overview: exhausted limits that it lists, and how often they are read at most.
  attentionLimitsMax: 20,
  attentionReadEveryMs: 5 * SECOND,
  // Targets that operators disable, and the interval of their tests.
  disabledTargetsMax: 1000,
  testEveryMs: 2 * SECOND,

  // The process
  limitsPrunedEveryMs: 1 * MINUTE,
  drainDelayMs: 5 * SECOND,
  drainMaxMs: 120 * SECOND,
  // How long a drain waits for settlements that the store did not accept, how long when it is hurried, and the longest pause
  // between retries while it waits.
  drainSettleMsMax: 30 * SECOND,
  drainSettleHurriedMsMax: 5 * SECOND,
  drainSettlePauseMsMax: 500,
  // Sending the last spans and metrics.
  drainTelemetryMsMax: 3 * SECOND,
  // Closing a store that could not accept them.
  drainCloseMsMax: 5 * SECOND,
}

export type Bounds = Readonly<typeof TABLE>

export const BOUNDS: Bounds = Object.freeze(TABLE)

// Defaults of a provider.
export const TIMEOUTS: Timeouts = Object.freeze({
  connectMs: 5 * SECOND,
  firstByteStreamMs: 60 * SECOND,
  firstByteJsonMs: 10 * MINUTE,
  idleMs: 60 * SECOND,
  totalMs: 15 * MINUTE,
})
