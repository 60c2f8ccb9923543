-- Budgets of keys and accounts, and events for webhooks.
-- A node of an older version would not enforce them.
-- serves: 12

-- JSON: a list of budgets.
ALTER TABLE api_key ADD COLUMN budgets TEXT COLLATE "C" NOT NULL DEFAULT '[]';
ALTER TABLE account ADD COLUMN budgets TEXT COLLATE "C" NOT NULL DEFAULT '[]';
-- An event is raised when less than this is available. Null: never.
ALTER TABLE account ADD COLUMN low_balance BIGINT;

-- What the requests that began in one window of a key's or account's budgets have spent and hold: a row exists for each window
-- that has a budget, from the first request in it, or from the moment that the budget was set.
CREATE TABLE budget_window (
  subject TEXT COLLATE "C" NOT NULL,
  period TEXT COLLATE "C" NOT NULL CHECK (period IN ('hour', 'day', 'week', 'month')),
  began BIGINT NOT NULL,
  spent BIGINT NOT NULL CHECK (spent >= 0),
  held BIGINT NOT NULL CHECK (held >= 0),
  PRIMARY KEY (subject, period, began)
) WITH (fillfactor = 50);
CREATE INDEX budget_window_began ON budget_window (period, began);

-- On SQLite, current values are in two parts.
CREATE VIEW budget_window_now AS SELECT subject, period, began, spent, held FROM budget_window;

-- What an account or key spent before its current month, so that the rest is the month's: changed once a month, not with every
-- request. Months are counted from the year 0.
ALTER TABLE account ADD COLUMN month BIGINT NOT NULL DEFAULT 0;
ALTER TABLE account ADD COLUMN month_base BIGINT NOT NULL DEFAULT 0;
ALTER TABLE key_balance ADD COLUMN month BIGINT NOT NULL DEFAULT 0;
ALTER TABLE key_balance ADD COLUMN month_base BIGINT NOT NULL DEFAULT 0;

CREATE TEMPORARY TABLE this_month ON COMMIT DROP AS
SELECT (EXTRACT(YEAR FROM began) * 12 + EXTRACT(MONTH FROM began) - 1)::bigint AS month,
  (EXTRACT(EPOCH FROM began) * 1000)::bigint AS began
FROM (SELECT date_trunc('month', now() AT TIME ZONE 'UTC') AS began) m;
CREATE TEMPORARY TABLE month_so_far ON COMMIT DROP AS
SELECT account_id, key_id, SUM(cost)::bigint AS cost FROM (
  SELECT account_id, key_id, cost FROM usage WHERE created_at >= (SELECT began FROM this_month)
  UNION ALL SELECT h.account_id, h.key_id, h.cost FROM usage_hour h JOIN usage_rolled r ON r.hour = h.hour AND r.dropped = 2
  WHERE h.hour >= (SELECT began / 3600000 FROM this_month)
) u GROUP BY account_id, key_id;
UPDATE key_balance b SET month = t.month, month_base = b.spent - m.cost FROM month_so_far m, this_month t
WHERE m.key_id = b.key_id AND b.spent >= m.cost;
UPDATE account a SET month = t.month, month_base = a.spent - m.cost
FROM (SELECT account_id, SUM(cost)::bigint AS cost FROM month_so_far GROUP BY account_id) m, this_month t
WHERE m.account_id = a.id AND a.spent >= m.cost;

DROP VIEW account_now;
CREATE VIEW account_now AS
SELECT id, name, status, version, created_at, budgets, low_balance, available, held, spent, owed, month, month_base FROM account;
DROP VIEW key_balance_now;
CREATE VIEW key_balance_now AS SELECT key_id, spent, held, day, day_count, month, month_base FROM key_balance;

-- Events for webhooks, written in the transaction that they report. Ids sort by time. Two events with the same `once` are one.
-- `fanned_out`: 1 once its deliveries exist.
CREATE TABLE outbox (
  id TEXT COLLATE "C" PRIMARY KEY,
  once TEXT COLLATE "C" UNIQUE,
  type TEXT COLLATE "C" NOT NULL,
  account_id TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  data TEXT COLLATE "C" NOT NULL,
  fanned_out BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX outbox_waiting ON outbox (id) WHERE fanned_out = 0;
