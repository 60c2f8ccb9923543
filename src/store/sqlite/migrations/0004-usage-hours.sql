-- Sums of usage by hour and by day, so that reports need not read rows, and which hours' sums are current.

-- A past hour is claimed by its row here; every later write to one of its usage rows increments `mark` in the same transaction.
-- Its sums are those of its rows where `rolled_mark` is `mark`. `dropped`: 1 while its rows are being deleted, 2 once they are;
-- then only its sums are left.
CREATE TABLE usage_rolled (
  hour INTEGER PRIMARY KEY,
  mark INTEGER NOT NULL,
  rolled_mark INTEGER NOT NULL,
  dropped INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX usage_rolled_pending ON usage_rolled (hour) WHERE mark <> rolled_mark;

-- A day's sums are current while the versions of its hours add up to `marks`.
CREATE TABLE usage_rolled_day (
  day INTEGER PRIMARY KEY,
  marks INTEGER NOT NULL
) STRICT;

CREATE TABLE usage_hour (
  hour INTEGER NOT NULL,
  account_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  outcome TEXT NOT NULL,
  requests INTEGER NOT NULL,
  prompt_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  cost INTEGER NOT NULL,
  upstream_cost INTEGER NOT NULL,
  overshoot INTEGER NOT NULL,
  PRIMARY KEY (hour, account_id, key_id, model, provider, endpoint, outcome)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage_day (
  day INTEGER NOT NULL,
  account_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  outcome TEXT NOT NULL,
  requests INTEGER NOT NULL,
  prompt_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  cost INTEGER NOT NULL,
  upstream_cost INTEGER NOT NULL,
  overshoot INTEGER NOT NULL,
  PRIMARY KEY (day, account_id, key_id, model, provider, endpoint, outcome)
) STRICT, WITHOUT ROWID;

-- Duration of completed chats: the number per bucket of the hour, or of the day.
CREATE TABLE usage_hour_ms (
  hour INTEGER NOT NULL,
  bucket INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  PRIMARY KEY (hour, bucket)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage_day_ms (
  day INTEGER NOT NULL,
  bucket INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  PRIMARY KEY (day, bucket)
) STRICT, WITHOUT ROWID;
