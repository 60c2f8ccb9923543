-- What reports and lists would otherwise have to gather from many sums: an hour's totals, and the names that were asked for
-- and that nobody offered.

-- Totals and names of an hour are true while `mark` is the mark that its sums were made with.
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

-- One without a name says that there were too many. They go with the rows of their hour.
CREATE TABLE usage_hour_unknown (
  hour INTEGER NOT NULL,
  model TEXT NOT NULL,
  PRIMARY KEY (hour, model)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_hour_unknown_model ON usage_hour_unknown (model, hour);
