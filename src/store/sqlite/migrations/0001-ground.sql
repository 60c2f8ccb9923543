-- Accounts, keys, usage rows (which are the reservations), the ledger, the catalog, events and settings.

CREATE TABLE account (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  available INTEGER NOT NULL DEFAULT 0 CHECK (available >= 0),
  held INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
  spent INTEGER NOT NULL DEFAULT 0 CHECK (spent >= 0),
  owed INTEGER NOT NULL DEFAULT 0 CHECK (owed >= 0),
  created_at INTEGER NOT NULL,
  CHECK (available = 0 OR owed = 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE api_key (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES account (id),
  name TEXT NOT NULL,
  version INTEGER NOT NULL DEFAULT 1,
  scopes TEXT NOT NULL,
  ip_allowlist TEXT NOT NULL,
  rpm_limit INTEGER NOT NULL CHECK (rpm_limit > 0),
  daily_limit INTEGER CHECK (daily_limit > 0),
  credit_limit INTEGER CHECK (credit_limit >= 0),
  max_concurrent INTEGER NOT NULL CHECK (max_concurrent > 0),
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  expired_at INTEGER,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX api_key_account ON api_key (account_id, id);
CREATE INDEX api_key_expiry ON api_key (expires_at) WHERE expires_at IS NOT NULL AND expired_at IS NULL;

-- The current secret of a key has no end of grace; each old one has one. Of the secret itself: hash, prefix, last four.
CREATE TABLE secret (
  hash TEXT PRIMARY KEY,
  key_id TEXT NOT NULL REFERENCES api_key (id),
  prefix TEXT NOT NULL,
  last4 TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  grace_expires_at INTEGER,
  ended_at INTEGER,
  last_used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX secret_key ON secret (key_id, created_at);
CREATE UNIQUE INDEX secret_current ON secret (key_id) WHERE grace_expires_at IS NULL AND ended_at IS NULL;
CREATE INDEX secret_grace ON secret (grace_expires_at) WHERE grace_expires_at IS NOT NULL AND ended_at IS NULL;

-- A separate table, so that traffic does not change the key's version.
CREATE TABLE key_balance (
  key_id TEXT PRIMARY KEY REFERENCES api_key (id),
  spent INTEGER NOT NULL DEFAULT 0 CHECK (spent >= 0),
  held INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
  day INTEGER NOT NULL DEFAULT 0,
  day_count INTEGER NOT NULL DEFAULT 0 CHECK (day_count >= 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage (
  request_id TEXT PRIMARY KEY,
  client_request_id TEXT,
  account_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  secret_last4 TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  model_requested TEXT,
  model_served TEXT,
  provider TEXT,
  attempts TEXT,
  stream INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'settled', 'recovered')),
  outcome TEXT,
  http_status INTEGER,
  error_code TEXT,
  finish_reason TEXT,
  prompt_tokens INTEGER NOT NULL DEFAULT 0,
  cached_tokens INTEGER NOT NULL DEFAULT 0,
  cache_write_tokens INTEGER NOT NULL DEFAULT 0,
  completion_tokens INTEGER NOT NULL DEFAULT 0,
  reasoning_tokens INTEGER NOT NULL DEFAULT 0,
  usage_source TEXT NOT NULL DEFAULT 'none',
  price_version TEXT,
  price TEXT,
  hold INTEGER NOT NULL DEFAULT 0 CHECK (hold >= 0),
  cost INTEGER NOT NULL DEFAULT 0 CHECK (cost >= 0),
  upstream_cost INTEGER,
  created_at INTEGER NOT NULL,
  first_byte_at INTEGER,
  finished_at INTEGER,
  client_ip TEXT NOT NULL,
  upstream_id TEXT,
  owner TEXT,
  checkpoint TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_key ON usage (key_id, request_id);
CREATE INDEX usage_open ON usage (owner) WHERE state = 'open';

-- Append-only. A charge has its request's id, so that a second one cannot be written.
CREATE TABLE ledger (
  account_id TEXT NOT NULL REFERENCES account (id),
  id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('topup', 'adjustment', 'charge', 'correction')),
  amount INTEGER NOT NULL,
  request_id TEXT,
  note TEXT,
  idempotency_key TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, id),
  CHECK (kind <> 'charge' OR request_id = id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX ledger_idempotency ON ledger (account_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE provider (
  id TEXT PRIMARY KEY,
  spec TEXT NOT NULL,
  provisioned INTEGER NOT NULL,
  active INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE model (
  id TEXT PRIMARY KEY,
  spec TEXT NOT NULL,
  price TEXT NOT NULL,
  price_version TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  provisioned INTEGER NOT NULL,
  active INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE price (
  model_id TEXT NOT NULL,
  version TEXT NOT NULL,
  price TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (model_id, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
  id TEXT PRIMARY KEY,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  address TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  detail TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE setting (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
