-- Data that reports and lists would otherwise collect from many sums: an hour's totals, and the requested model names that are
-- not offered.
-- serves: 1

-- Totals and names of an hour are current while `mark` is the version that its sums were made with.
CREATE TABLE usage_rolled_total (
  hour BIGINT PRIMARY KEY,
  mark BIGINT NOT NULL
);

CREATE TABLE usage_hour_total (
  hour BIGINT NOT NULL,
  endpoint TEXT COLLATE "C" NOT NULL,
  outcome TEXT COLLATE "C" NOT NULL,
  requests BIGINT NOT NULL,
  prompt_tokens BIGINT NOT NULL,
  cached_tokens BIGINT NOT NULL,
  cache_write_tokens BIGINT NOT NULL,
  completion_tokens BIGINT NOT NULL,
  reasoning_tokens BIGINT NOT NULL,
  cost BIGINT NOT NULL,
  upstream_cost BIGINT NOT NULL,
  overshoot BIGINT NOT NULL,
  PRIMARY KEY (hour, endpoint, outcome)
);

-- An empty name means that there were too many. They are deleted with the rows of their hour.
CREATE TABLE usage_hour_unknown (
  hour BIGINT NOT NULL,
  model TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (hour, model)
);
CREATE INDEX usage_hour_unknown_model ON usage_hour_unknown (model, hour);
