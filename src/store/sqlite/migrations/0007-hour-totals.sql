-- Data that reports and lists would otherwise collect from many sums: an hour's totals, and the requested model names that are
-- not offered.

-- Totals and names of an hour are current while `mark` is the version that its sums were made with.
CREATE TABLE usage_rolled_total (
  hour INTEGER PRIMARY KEY,
  mark INTEGER NOT NULL
) STRICT;

CREATE TABLE usage_hour_total (
  hour INTEGER NOT NULL,
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
  PRIMARY KEY (hour, endpoint, outcome)
) STRICT, WITHOUT ROWID;

-- An empty name means that there were too many. They are deleted with the rows of their hour.
CREATE TABLE usage_hour_unknown (
  hour INTEGER NOT NULL,
  model TEXT NOT NULL,
  PRIMARY KEY (hour, model)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_hour_unknown_model ON usage_hour_unknown (model, hour);
