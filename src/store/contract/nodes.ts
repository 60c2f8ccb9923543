// What every store guarantees for the nodes that share it: which are alive, and which changes of the others must be known here
// soon.

export type Nodes = {
  // This node and the others, except those last seen long ago; this one is always included.
  list(): Promise<readonly NodeEntry[]>
  // Changes by the others since the last poll; some may be reported twice.
  changes(): Promise<ClusterChanges>
  // Deletes nodes that have been silent for a day and left nothing open. Returns how many.
  clear(): Promise<number>
  // For this node, which has nothing open: others no longer wait for it.
  leave(): Promise<void>
  // While the work runs, no other node runs it.
  withStartupLock<T>(work: () => Promise<T>): Promise<T>
}

// What a node reports about itself.
export type NodeFacts = {
  readonly name: string
  readonly version: string
  readonly startedAt: number
  inFlight(): number
}

export type NodeEntry = Omit<NodeFacts, 'inFlight'> & {
  readonly id: string
  readonly renewedAt: number
  // Silent for a whole lease: others recover its open rows.
  readonly state: 'alive' | 'silent'
  readonly self: boolean
  // As of its last report; for this node, now.
  readonly inFlight: number
}

export type ClusterChanges = {
  readonly catalogRevision: number
  // Keys whose streams an operator has ended.
  readonly abortedKeys: readonly string[]
  // Including this one.
  readonly nodesAlive: number
}
