-- Sums of usage by hour and by day, so that reports need not read rows, and which hours' sums are current; and monthly partitions
-- of usage rows, so that old ones can be dropped whole.
-- serves: 1

-- A past hour is claimed by its row here; every later write to one of its usage rows increments `mark` in the same transaction.
-- Its sums are those of its rows where `rolled_mark` is `mark`. `dropped`: 1 while its rows are being deleted, 2 once they are;
-- then only its sums are left.
CREATE TABLE usage_rolled (
  hour BIGINT PRIMARY KEY,
  mark BIGINT NOT NULL,
  rolled_mark BIGINT NOT NULL,
  dropped BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX usage_rolled_pending ON usage_rolled (hour) WHERE mark <> rolled_mark;

-- A day's sums are current while the versions of its hours add up to `marks`.
CREATE TABLE usage_rolled_day (
  day BIGINT PRIMARY KEY,
  marks BIGINT NOT NULL
);

CREATE TABLE usage_hour (
  hour BIGINT NOT NULL,
  account_id TEXT COLLATE "C" NOT NULL,
  key_id TEXT COLLATE "C" NOT NULL,
  model TEXT COLLATE "C" NOT NULL,
  provider TEXT COLLATE "C" NOT NULL,
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
  PRIMARY KEY (hour, account_id, key_id, model, provider, endpoint, outcome)
);

CREATE TABLE usage_day (
  day BIGINT NOT NULL,
  account_id TEXT COLLATE "C" NOT NULL,
  key_id TEXT COLLATE "C" NOT NULL,
  model TEXT COLLATE "C" NOT NULL,
  provider TEXT COLLATE "C" NOT NULL,
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
  PRIMARY KEY (day, account_id, key_id, model, provider, endpoint, outcome)
);

-- Duration of completed chats: the number per bucket of the hour, or of the day.
CREATE TABLE usage_hour_ms (
  hour BIGINT NOT NULL,
  bucket BIGINT NOT NULL,
  requests BIGINT NOT NULL,
  PRIMARY KEY (hour, bucket)
);

CREATE TABLE usage_day_ms (
  day BIGINT NOT NULL,
  bucket BIGINT NOT NULL,
  requests BIGINT NOT NULL,
  PRIMARY KEY (day, bucket)
);

-- Nodes of the previous version do not increment versions of hours. No hour is claimed while one of them lives.
ALTER TABLE node ADD COLUMN marks_hours BOOLEAN NOT NULL DEFAULT false;

-- Request ids begin with their time (UUIDv7), so a month is a range of them and the primary key stays. The existing table becomes
-- the first partition, up to the end of this month: nothing is copied, and statements of a node of the previous version find a
-- table of the same name and columns.
ALTER TABLE usage RENAME TO usage_ground;
ALTER INDEX usage_pkey RENAME TO usage_ground_pkey;
ALTER INDEX usage_key RENAME TO usage_ground_key;
ALTER INDEX usage_open RENAME TO usage_ground_open;
CREATE TABLE usage (LIKE usage_ground INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE (request_id);
ALTER TABLE usage ADD PRIMARY KEY (request_id);
CREATE INDEX usage_key ON usage (key_id, request_id);
CREATE INDEX usage_open ON usage (owner) WHERE state = 'open';
CREATE TABLE usage_rest PARTITION OF usage DEFAULT;

DO $$
DECLARE
  month_end BIGINT := extract(epoch FROM date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month') * 1000;
  hex TEXT := lpad(to_hex(month_end), 12, '0');
  bound TEXT := substr(hex, 1, 8) || '-' || substr(hex, 9);
BEGIN
  WITH beyond AS (DELETE FROM usage_ground WHERE request_id >= bound RETURNING *)
    INSERT INTO usage_rest SELECT * FROM beyond;
  EXECUTE format('ALTER TABLE usage ATTACH PARTITION usage_ground FOR VALUES FROM (MINVALUE) TO (%L)', bound);
END $$;
