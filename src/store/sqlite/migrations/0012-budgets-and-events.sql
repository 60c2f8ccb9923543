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

-- What batches have added to the windows since the last write-back, like the journal of balances.
CREATE TABLE budget_journal (
  seq INTEGER PRIMARY KEY,
  subject TEXT NOT NULL,
  period TEXT NOT NULL,
  began INTEGER NOT NULL,
  spent INTEGER NOT NULL,
  held INTEGER NOT NULL
) STRICT;

CREATE VIEW budget_window_now AS
SELECT subject, period, began, SUM(spent) AS spent, SUM(held) AS held FROM (
  SELECT subject, period, began, spent, held FROM budget_window
  UNION ALL SELECT subject, period, began, spent, held FROM budget_journal
) GROUP BY subject, period, began;

DROP VIEW account_now;
CREATE VIEW account_now AS
SELECT a.id, a.name, a.status, a.version, a.created_at, a.budgets, a.low_balance,
  a.available + COALESCE(j.available, 0) AS available, a.held + COALESCE(j.held, 0) AS held,
  a.spent + COALESCE(j.spent, 0) AS spent, a.owed + COALESCE(j.owed, 0) AS owed
FROM account a LEFT JOIN (
  SELECT account_id, SUM(available) AS available, SUM(held) AS held, SUM(spent) AS spent, SUM(owed) AS owed
  FROM balance_journal GROUP BY account_id
) j ON j.account_id = a.id;

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
