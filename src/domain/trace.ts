// A request that is traced: the stages report when attempts begin and end; spans are created once the request is over.

export type RequestTrace = {
  // Returns the `traceparent` for the provider; undefined if none is passed on.
  beginAttempt(): string | undefined
  // The provider's answer is complete, or has failed.
  relayed(): void
}
