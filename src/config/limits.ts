// The bounds of the process in one table, each with its unit in its name: what an operator or a test may want other than
// it is. A limit of one noun (a schema's maximum) or of one tool (a buffer) stands by name beside what it limits.
import type { Timeouts } from '../domain/catalog.ts'

const KIB = 1024
const MIB = 1024 * KIB
const SECOND = 1000
const MINUTE = 60 * SECOND

const TABLE = {
  // The door
  bodyBytesMax: 16 * MIB,
  headersMax: 100,
  headerBytesMax: 16 * KIB,
  jsonDepthMax: 32,
  headersTimeoutMs: 10 * SECOND,
  requestTimeoutMs: 30 * SECOND,
  // How often Node looks for connections that are past the two above.
  connectionsCheckMs: 1 * SECOND,
  refusedBodyBytesMax: 1 * MIB,
  refusedBodyWaitMs: 2 * SECOND,
  // Connections that the kernel keeps for us until we accept them.
  backlogMax: 4096,
  // Connections of callers: at most half of the descriptors that are left when some are reserved for files, threads and the store,
  // since each may need one to an upstream too.
  connectionsMax: 65_536,
  descriptorsReserved: 96,
  // What one address may have of them, unless it is that of a trusted proxy.
  connectionsPerAddressPercentMax: 75,
  // More of them on a listener that is for operators alone.
  adminConnectionsReserved: 16,
  refusedConnectionsMax: 16,

  // Neighbours
  bodiesInMemoryBytesMax: 256 * MIB,
  // One account may have at most one such part of the bodies in memory.
  bodiesPerAccountShare: 4,
  // On Postgres many are one statement, so that as many as one holds may be looked up at once.
  unknownKeyLookupsMax: 32,
  unknownKeyLookupsTogetherMax: 256,
  // Each is a connection that waits for its answer: whoever floods must not fill the line for valid keys of its address.
  unknownKeyLookupsWaitingMax: 32_768,
  unknownKeyLookupsWaitingPerAddressMax: 8_192,
  unknownKeysCachedMax: 50_000,
  unknownKeyCacheMs: 1 * SECOND,
  addressFailuresPerMinute: 600,
  addressesTrackedMax: 100_000,
  keysCachedMax: 100_000,
  // What costs the key no token of its rpm has an allowance of its own: refusals for credits a minute, or the key's own limit if
  // that is more; and rows of refusals a second. Further refusals are counted, and the counts written once a minute.
  unpaidPerMinuteMin: 6_000,
  refusalRowsPerSecond: 10,
  refusalsCountedForMs: 1 * MINUTE,
  refusalCountsMax: 10_000,
  // Lists of usage: how many are read at once for all keys, how many may wait, and how many rows one page may look at.
  usageListsAtOnceMax: 2,
  usageListsWaitingMax: 256,
  usageListsPerAccountWaitingMax: 4,
  usageRowsLookedAtMax: 10_000,

  // A chat
  // A cap that a low balance imposes is not lower than this; below it the request gets 402.
  outputCapMinTokens: 256,
  // A prompt whose bytes the account cannot afford is counted before it is refused: so long at most, only if it is not larger,
  // so many of one account at once, and so much of the thread's time for one account a minute.
  holdCountMsMax: 200,
  holdCountBytesMax: 2 * MIB,
  holdCountsPerAccountMax: 16,
  holdCountMsPerMinute: 6 * SECOND,
  // How long a quote takes an answer to be where the caller names no maximum.
  quotedOutputTokens: 512,

  // Upstreams
  attemptsMax: 3,
  answerBytesMax: 32 * MIB,
  // Of the wires that are spoken by packages, which parse on the event loop.
  packageAnswerBytesMax: 4 * MIB,
  // Whole answers in memory, and which part of it one account may have. A small answer is not counted and never waits.
  answersInMemoryBytesMax: 160 * MIB,
  answersPerAccountShare: 4,
  answerUncountedBytesMax: 64 * KIB,
  // An answer above either is read in a thread of its own, within the time that follows.
  answerInlineBytesMax: 1 * MIB,
  answerInlineMembersMax: 20_000,
  answerReadMsMax: 10 * SECOND,
  sseEventBytesMax: 1 * MIB,
  // How long an upstream may keep its connection open after it said [DONE].
  endAfterDoneMs: 2 * SECOND,
  connectionsPerProviderMax: 16_384,

  // Routing
  // Failures in a row that open a target's breaker, or such a part of the requests of the last while, once there are some.
  breakerFailuresInARowMax: 10,
  breakerErrorPercentMax: 50,
  breakerRequestsMin: 20,
  breakerWindowMs: 15 * SECOND,
  // How long it stays open, twice as long each time that the target is not well again.
  breakerOpenMs: 5 * SECOND,
  breakerOpenMsMax: 30 * SECOND,
  // With all targets of a model open, one request in this time is sent all the same. The accounts that asked within the
  // second time take turns; of that many accounts is known when it was their turn.
  lastResortEveryMs: 1 * SECOND,
  lastResortAskedMs: 10 * SECOND,
  lastResortAccountsMax: 256,
  // What an upstream may ask us to wait, and how long a credential is set aside that is limited without a word.
  retryAfterMsMax: 5 * MINUTE,
  limitedMsDefault: 1 * SECOND,
  // Second tries: such a part of the requests of the last seconds, and a reserve that the accounts share.
  retryPercentMax: 20,
  retryReserveMax: 10,
  retryWindowSeconds: 10,
  retryAccountSeenMs: 10 * MINUTE,
  retryAccountsMax: 10_000,
  // Questions of our own to upstreams.
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
  // How long the store may take over what a request waits for, before it is away; half of a node's lease at most.
  gateWaitMsMax: 10 * SECOND,
  firstSweepTriesMax: 20,
  firstSweepPauseMs: 500,

  // Nodes that share a database
  // A node that has not swept for so long is taken for dead.
  nodeLeaseMs: 20 * SECOND,
  // How often a node asks what the others have done: a change of the catalog is in force everywhere within a second.
  newsEveryMs: 400,
  nodesClearedEveryMs: 60 * MINUTE,
  // Redis
  redisCommandMsMax: 250,
  redisConnectMsMax: 2 * SECOND,
  // After so many commands in a row without an answer it is away, and tried again in the background.
  redisFailuresInARowMax: 3,
  redisRetryMsMin: 100,
  redisRetryMsMax: 2 * SECOND,
  redisPingEveryMs: 1 * SECOND,
  redisCommandsWaitingMax: 20_000,

  // The operator's side
  adminBodyBytesMax: 1 * MIB,
  operatorsMax: 1000,
  // Whoever logs in more often ends the oldest of their sessions.
  sessionsPerOperatorMax: 100,
  // How often ends of keys and of old secrets that have passed are written down.
  keyEndsEveryMs: 1 * SECOND,
  // How often there is a look at what is to be summed up or dropped, and how long a pause there is where there is more of it.
  upkeepEveryMs: 1 * MINUTE,
  upkeepPauseMs: 50,
  // An hour is summed up so long after its end: by then hardly a row of it is still to come.
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
  // How long until one that ended by itself is started again: from the first to the second, doubled each time, anew for one
  // that had run for the third.
  workerRestartMsMin: 200,
  workerRestartMsMax: 10 * SECOND,
  workerSteadyAfterMs: 1 * MINUTE,

  // The process
  limitsPrunedEveryMs: 1 * MINUTE,
  drainDelayMs: 5 * SECOND,
  drainMaxMs: 120 * SECOND,
  // How long a drain waits for settlements that the store did not take, how long once it was told to hurry, and the longest
  // pause between their tries while it waits.
  drainSettleMsMax: 30 * SECOND,
  drainSettleHurriedMsMax: 5 * SECOND,
  drainSettlePauseMsMax: 500,
  // Closing a store that could not take them.
  drainCloseMsMax: 5 * SECOND,
}

export type Bounds = Readonly<typeof TABLE>

export const BOUNDS: Bounds = Object.freeze(TABLE)

// Of a provider that states none of its own.
export const TIMEOUTS: Timeouts = Object.freeze({
  connectMs: 5 * SECOND,
  firstByteStreamMs: 60 * SECOND,
  firstByteJsonMs: 10 * MINUTE,
  idleMs: 60 * SECOND,
  totalMs: 15 * MINUTE,
})
