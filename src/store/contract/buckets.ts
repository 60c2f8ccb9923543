// The requests per minute shared by the nodes: one bucket per key, stored where every node can reach it. It may be unavailable,
// and then reports that at once; it never fails a request.

export type SharedBuckets = {
  // Takes a token, if there is one. Undefined: unavailable, and each node must use its own.
  take(key: BucketKey): Promise<BucketSaid | undefined>
  // The state of the bucket, without taking anything.
  look(key: BucketKey): Promise<BucketSaid | undefined>
  // Returns a token that was taken there; not awaited.
  giveBack(keyId: string): void
  // The record is the one in force, although the bucket has seen this higher version: a restored database counts its versions
  // from an earlier one. Not awaited.
  follow(key: BucketKey, wrongVersion: number): void
  isUp(): boolean
}

// Of two records of a key the newer one has the limit.
export type BucketKey = { readonly id: string; readonly rpmLimit: number; readonly version: number }

export type BucketSaid = {
  readonly isTaken: boolean
  readonly tokens: number
  readonly limit: number
  readonly version: number
}

// Hints to the other nodes, best effort: cached data of a key or of accounts has changed, or a key's requests must end now.
export type Hint =
  | { readonly kind: 'forget'; readonly keyId: string }
  | { readonly kind: 'forget_accounts' }
  | { readonly kind: 'abort_streams'; readonly keyId: string }
