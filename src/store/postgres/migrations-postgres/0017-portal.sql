-- The customer portal: links that open a session once, the sessions, and what keys customers may create.
-- Older nodes have no portal. They do not end the sessions of an account that they suspend; while it is suspended, nodes of this
-- version refuse those.
-- serves: 16

-- Only the hash of a link's token is stored. A link that was used or has expired is kept for a day, so that the page that it leads
-- to can name the way back.
CREATE TABLE portal_link (
  token_hash TEXT COLLATE "C" PRIMARY KEY,
  account_id TEXT COLLATE "C" NOT NULL REFERENCES account (id),
  -- JSON: a list.
  permissions TEXT COLLATE "C" NOT NULL,
  return_url TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  used_at BIGINT
);
CREATE INDEX portal_link_account ON portal_link (account_id, created_at);
CREATE INDEX portal_link_expiry ON portal_link (expires_at);

-- Only the hash of a session's secret is stored.
CREATE TABLE portal_session (
  id TEXT COLLATE "C" PRIMARY KEY,
  account_id TEXT COLLATE "C" NOT NULL REFERENCES account (id),
  secret_hash TEXT COLLATE "C" NOT NULL,
  permissions TEXT COLLATE "C" NOT NULL,
  return_url TEXT COLLATE "C",
  address TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  ended_at BIGINT
);
CREATE UNIQUE INDEX portal_session_secret ON portal_session (secret_hash);
CREATE INDEX portal_session_account ON portal_session (account_id, id);
CREATE INDEX portal_session_expiry ON portal_session (expires_at);

-- JSON; null: keys made in the portal have no limits of their own.
ALTER TABLE account ADD COLUMN portal_key_limits TEXT COLLATE "C";

DROP VIEW account_now;
CREATE VIEW account_now AS
SELECT id, name, status, version, created_at, budgets, low_balance, portal_key_limits, available, held, spent, owed, month, month_base
FROM account;
