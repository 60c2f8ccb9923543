// What every store promises of the nodes that share it: who is alive, and what the others did that must be known here soon.

export type Nodes = {
  // This one and the others, those that were last heard of long ago excepted; this one is always there.
  list(): Promise<readonly NodeEntry[]>
  // What the others did since this was last asked; some of it may come twice.
  news(): Promise<News>
  // Forgets nodes that have been silent for a day and left nothing open. Answers how many.
  clear(): Promise<number>
  // Of this one, which has nothing open: it is no longer waited for.
  leave(): Promise<void>
  // While the work runs, no other node is at it.
  inTurn<T>(work: () => Promise<T>): Promise<T>
}

// What a node says of itself.
export type NodeFacts = {
  readonly name: string
  readonly version: string
  readonly startedAt: number
  inFlight(): number
}

export type NodeEntry = Omit<NodeFacts, 'inFlight'> & {
  readonly id: string
  readonly renewedAt: number
  // Silent for a whole lease: what it left open is recovered by others.
  readonly state: 'alive' | 'silent'
  readonly self: boolean
  // As of when it was last heard; of this one, now.
  readonly inFlight: number
}

export type News = {
  readonly catalogRevision: number
  // Keys whose streams an operator has ended.
  readonly abortedKeys: readonly string[]
  // This one among them.
  readonly nodesAlive: number
}
