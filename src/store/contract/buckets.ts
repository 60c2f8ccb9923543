// What the nodes share of the requests a minute: one bucket for each key, kept where every node can reach it. It may be
// away, and then says so at once; it never fails a request.

export type SharedBuckets = {
  // Takes a token, if there is one. Undefined: nobody answers, and each node must go by its own.
  take(key: BucketKey): Promise<BucketSaid | undefined>
  // How the bucket stands, without taking anything.
  look(key: BucketKey): Promise<BucketSaid | undefined>
  // Puts a token back that was taken there; nobody waits for it.
  giveBack(keyId: string): void
  // The record is the one in force, though the bucket goes by one with this higher version: a restored database counts its
  // versions from an earlier one. Nobody waits for it.
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

// What is told to the other nodes, as far as they can be reached: what they remember of a key or of accounts has changed,
// and a key's requests are to end now.
export type Hint =
  | { readonly kind: 'forget'; readonly keyId: string }
  | { readonly kind: 'forget_accounts' }
  | { readonly kind: 'abort_streams'; readonly keyId: string }
