-- Models and tags of keys, tags of requests, and why a request was refused or failed.

-- JSON: a list of ids and patterns; names and values.
ALTER TABLE api_key ADD COLUMN allowed_models TEXT NOT NULL DEFAULT '[]';
ALTER TABLE api_key ADD COLUMN tags TEXT NOT NULL DEFAULT '{}';

-- JSON with sorted names. Null: none.
ALTER TABLE usage ADD COLUMN tags TEXT;
ALTER TABLE usage ADD COLUMN error_message TEXT;
-- JSON: the figures of a refusal.
ALTER TABLE usage ADD COLUMN error_detail TEXT;

-- Tags are a dimension of the sums. The key has their hash, since they may be longer than an index allows.
CREATE TABLE usage_hour_tagged (
  hour INTEGER NOT NULL,
  account_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  outcome TEXT NOT NULL,
  tags_hash TEXT NOT NULL,
  tags TEXT NOT NULL,
  requests INTEGER NOT NULL,
  prompt_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  cost INTEGER NOT NULL,
  upstream_cost INTEGER NOT NULL,
  overshoot INTEGER NOT NULL,
  PRIMARY KEY (hour, account_id, key_id, model, provider, endpoint, outcome, tags_hash)
) STRICT, WITHOUT ROWID;
INSERT INTO usage_hour_tagged SELECT hour, account_id, key_id, model, provider, endpoint, outcome, '', '', requests,
  prompt_tokens, cached_tokens, cache_write_tokens, completion_tokens, reasoning_tokens, cost, upstream_cost, overshoot
  FROM usage_hour;
DROP TABLE usage_hour;
ALTER TABLE usage_hour_tagged RENAME TO usage_hour;

CREATE TABLE usage_day_tagged (
  day INTEGER NOT NULL,
  account_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  outcome TEXT NOT NULL,
  tags_hash TEXT NOT NULL,
  tags TEXT NOT NULL,
  requests INTEGER NOT NULL,
  prompt_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  cost INTEGER NOT NULL,
  upstream_cost INTEGER NOT NULL,
  overshoot INTEGER NOT NULL,
  PRIMARY KEY (day, account_id, key_id, model, provider, endpoint, outcome, tags_hash)
) STRICT, WITHOUT ROWID;
INSERT INTO usage_day_tagged SELECT day, account_id, key_id, model, provider, endpoint, outcome, '', '', requests,
  prompt_tokens, cached_tokens, cache_write_tokens, completion_tokens, reasoning_tokens, cost, upstream_cost, overshoot
  FROM usage_day;
DROP TABLE usage_day;
ALTER TABLE usage_day_tagged RENAME TO usage_day;
