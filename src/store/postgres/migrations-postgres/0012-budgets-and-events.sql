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

-- On SQLite it is in two parts.
CREATE VIEW budget_window_now AS SELECT subject, period, began, spent, held FROM budget_window;
DROP VIEW account_now;
CREATE VIEW account_now AS
SELECT id, name, status, version, created_at, budgets, low_balance, available, held, spent, owed FROM account;

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
