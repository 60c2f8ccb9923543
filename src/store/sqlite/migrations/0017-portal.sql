-- The customer portal: links that open a session once, the sessions, and what keys customers may create.

-- Only the hash of a link's token is stored. A link that was used or has expired is kept for a day, so that the page that it leads
-- to can name the way back.
CREATE TABLE portal_link (
  token_hash TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES account (id),
  -- JSON: a list.
  permissions TEXT NOT NULL,
  return_url TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX portal_link_account ON portal_link (account_id, created_at);
CREATE INDEX portal_link_expiry ON portal_link (expires_at);

-- Only the hash of a session's secret is stored.
CREATE TABLE portal_session (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES account (id),
  secret_hash TEXT NOT NULL,
  permissions TEXT NOT NULL,
  return_url TEXT,
  address TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX portal_session_secret ON portal_session (secret_hash);
CREATE INDEX portal_session_account ON portal_session (account_id, id);
CREATE INDEX portal_session_expiry ON portal_session (expires_at);

-- JSON; null: keys made in the portal have no limits of their own.
ALTER TABLE account ADD COLUMN portal_key_limits TEXT;

DROP VIEW account_now;
CREATE VIEW account_now AS
SELECT a.id, a.name, a.status, a.version, a.created_at, a.budgets, a.low_balance, a.portal_key_limits,
  a.available + COALESCE(j.available, 0) AS available, a.held + COALESCE(j.held, 0) AS held,
  a.spent + COALESCE(j.spent, 0) AS spent, a.owed + COALESCE(j.owed, 0) AS owed,
  MAX(a.month, COALESCE(j.month, 0)) AS month, a.month_base + COALESCE(j.month_base, 0) AS month_base
FROM account a LEFT JOIN (
  SELECT account_id, SUM(available) AS available, SUM(held) AS held, SUM(spent) AS spent, SUM(owed) AS owed,
    MAX(month) AS month, SUM(month_base) AS month_base
  FROM balance_journal GROUP BY account_id
) j ON j.account_id = a.id;
