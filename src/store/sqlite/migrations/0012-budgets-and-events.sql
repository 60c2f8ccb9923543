-- Budgets of keys and accounts, and events for webhooks.

-- JSON: a list of budgets.
ALTER TABLE api_key ADD COLUMN budgets TEXT NOT NULL DEFAULT '[]';
ALTER TABLE account ADD COLUMN budgets TEXT NOT NULL DEFAULT '[]';
-- An event is raised when less than this is available. Null: never.
ALTER TABLE account ADD COLUMN low_balance INTEGER;

-- What the requests that began in one window of a key's or account's budgets have spent and hold: a row exists for each window
-- that has a budget, from the first request in it, or from the moment that the budget was set.
CREATE TABLE budget_window (
  subject TEXT NOT NULL,
  period TEXT NOT NULL CHECK (period IN ('hour', 'day', 'week', 'month')),
  began INTEGER NOT NULL,
  spent INTEGER NOT NULL CHECK (spent >= 0),
  held INTEGER NOT NULL CHECK (held >= 0),
  PRIMARY KEY (subject, period, began)
) STRICT, WITHOUT ROWID;
CREATE INDEX budget_window_began ON budget_window (period, began);

-- What batches have added to the windows since the last write-back, like the journal of balances.
CREATE TABLE budget_journal (
  seq INTEGER PRIMARY KEY,
  subject TEXT NOT NULL,
  period TEXT NOT NULL,
  began INTEGER NOT NULL,
  spent INTEGER NOT NULL,
  held INTEGER NOT NULL
) STRICT;

-- Windows at this instant in parts, which are added up.
CREATE VIEW budget_window_now AS
SELECT subject, period, began, spent, held FROM budget_window
UNION ALL SELECT subject, period, began, spent, held FROM budget_journal;

-- What an account or key spent before its current month, so that the rest is the month's: changed once a month, not with every
-- request. Months are counted from the year 0.
ALTER TABLE account ADD COLUMN month INTEGER NOT NULL DEFAULT 0;
ALTER TABLE account ADD COLUMN month_base INTEGER NOT NULL DEFAULT 0;
ALTER TABLE key_balance ADD COLUMN month INTEGER NOT NULL DEFAULT 0;
ALTER TABLE key_balance ADD COLUMN month_base INTEGER NOT NULL DEFAULT 0;
-- The new months, and what is added to the bases.
ALTER TABLE balance_journal ADD COLUMN month INTEGER NOT NULL DEFAULT 0;
ALTER TABLE balance_journal ADD COLUMN month_base INTEGER NOT NULL DEFAULT 0;
ALTER TABLE balance_journal ADD COLUMN key_month INTEGER NOT NULL DEFAULT 0;
ALTER TABLE balance_journal ADD COLUMN key_month_base INTEGER NOT NULL DEFAULT 0;

CREATE TABLE month_so_far AS
SELECT account_id, key_id, SUM(cost) AS cost FROM (
  SELECT account_id, key_id, cost FROM usage WHERE created_at >= strftime('%s', 'now', 'start of month') * 1000
  UNION ALL SELECT h.account_id, h.key_id, h.cost FROM usage_hour h JOIN usage_rolled r ON r.hour = h.hour AND r.dropped = 2
  WHERE h.hour >= strftime('%s', 'now', 'start of month') / 3600
) GROUP BY account_id, key_id;
-- From the views, since a crash may have left a journal, whose costs are in the rows already.
UPDATE key_balance SET month = strftime('%Y', 'now') * 12 + strftime('%m', 'now') - 1, month_base = n.spent - m.cost
FROM month_so_far m JOIN key_balance_now n ON n.key_id = m.key_id
WHERE m.key_id = key_balance.key_id AND n.spent >= m.cost;
UPDATE account SET month = strftime('%Y', 'now') * 12 + strftime('%m', 'now') - 1, month_base = n.spent - m.cost
FROM (SELECT account_id, SUM(cost) AS cost FROM month_so_far GROUP BY account_id) m
  JOIN account_now n ON n.id = m.account_id
WHERE m.account_id = account.id AND n.spent >= m.cost;
DROP TABLE month_so_far;

DROP VIEW account_now;
CREATE VIEW account_now AS
SELECT a.id, a.name, a.status, a.version, a.created_at, a.budgets, a.low_balance,
  a.available + COALESCE(j.available, 0) AS available, a.held + COALESCE(j.held, 0) AS held,
  a.spent + COALESCE(j.spent, 0) AS spent, a.owed + COALESCE(j.owed, 0) AS owed,
  MAX(a.month, COALESCE(j.month, 0)) AS month, a.month_base + COALESCE(j.month_base, 0) AS month_base
FROM account a LEFT JOIN (
  SELECT account_id, SUM(available) AS available, SUM(held) AS held, SUM(spent) AS spent, SUM(owed) AS owed,
    MAX(month) AS month, SUM(month_base) AS month_base
  FROM balance_journal GROUP BY account_id
) j ON j.account_id = a.id;

-- Of several entries of a key, `day` and `day_count` are those of the last. Since months never decrease, one maximum is enough.
DROP VIEW key_balance_now;
CREATE VIEW key_balance_now AS
SELECT b.key_id, b.spent + COALESCE(j.spent, 0) AS spent, b.held + COALESCE(j.held, 0) AS held,
  COALESCE(j.day, b.day) AS day, COALESCE(j.day_count, b.day_count) AS day_count,
  MAX(b.month, COALESCE(j.month, 0)) AS month, b.month_base + COALESCE(j.month_base, 0) AS month_base
FROM key_balance b LEFT JOIN (
  SELECT key_id, SUM(key_spent) AS spent, SUM(key_held) AS held, MAX(seq) AS last, day, day_count,
    key_month AS month, SUM(key_month_base) AS month_base
  FROM balance_journal GROUP BY key_id
) j ON j.key_id = b.key_id;

-- Events for webhooks, written in the transaction that they report. Ids sort by time. Two events with the same `once` are one.
-- `fanned_out`: 1 once its deliveries exist.
CREATE TABLE outbox (
  id TEXT PRIMARY KEY,
  once TEXT UNIQUE,
  type TEXT NOT NULL,
  account_id TEXT,
  created_at INTEGER NOT NULL,
  data TEXT NOT NULL,
  fanned_out INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX outbox_waiting ON outbox (id) WHERE fanned_out = 0;
