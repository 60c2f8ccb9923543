-- Accounts, keys, usage rows (which are the reservations), the ledger, the catalog, events and settings: equal to the SQLite
-- migrations up to that point. Texts sort by their bytes, whatever the database's own collation.
-- serves: 1

-- Accounts and key balances change with every batch: half of each page is left free for new versions of its rows, so that no
-- index has to be updated.
CREATE TABLE account (
  id TEXT COLLATE "C" PRIMARY KEY,
  name TEXT COLLATE "C" NOT NULL,
  status TEXT COLLATE "C" NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  available BIGINT NOT NULL DEFAULT 0 CHECK (available >= 0),
  held BIGINT NOT NULL DEFAULT 0 CHECK (held >= 0),
  spent BIGINT NOT NULL DEFAULT 0 CHECK (spent >= 0),
  owed BIGINT NOT NULL DEFAULT 0 CHECK (owed >= 0),
  created_at BIGINT NOT NULL,
  CHECK (available = 0 OR owed = 0)
) WITH (fillfactor = 50);

CREATE TABLE api_key (
  id TEXT COLLATE "C" PRIMARY KEY,
  account_id TEXT COLLATE "C" NOT NULL REFERENCES account (id),
  name TEXT COLLATE "C" NOT NULL,
  version BIGINT NOT NULL DEFAULT 1,
  scopes TEXT COLLATE "C" NOT NULL,
  ip_allowlist TEXT COLLATE "C" NOT NULL,
  rpm_limit BIGINT NOT NULL CHECK (rpm_limit > 0),
  daily_limit BIGINT CHECK (daily_limit > 0),
  credit_limit BIGINT CHECK (credit_limit >= 0),
  max_concurrent BIGINT NOT NULL CHECK (max_concurrent > 0),
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  expired_at BIGINT,
  revoked_at BIGINT
);
CREATE INDEX api_key_account ON api_key (account_id, id);
CREATE INDEX api_key_expiry ON api_key (expires_at) WHERE expires_at IS NOT NULL AND expired_at IS NULL;

-- The current secret of a key has no end of grace; each old one has one. Of the secret itself: hash, prefix, last four.
CREATE TABLE secret (
  hash TEXT COLLATE "C" PRIMARY KEY,
  key_id TEXT COLLATE "C" NOT NULL REFERENCES api_key (id),
  prefix TEXT COLLATE "C" NOT NULL,
  last4 TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  grace_expires_at BIGINT,
  ended_at BIGINT,
  last_used_at BIGINT
);
CREATE INDEX secret_key ON secret (key_id, created_at);
CREATE UNIQUE INDEX secret_current ON secret (key_id) WHERE grace_expires_at IS NULL AND ended_at IS NULL;
CREATE INDEX secret_grace ON secret (grace_expires_at) WHERE grace_expires_at IS NOT NULL AND ended_at IS NULL;

-- A separate table, so that traffic does not change the key's version.
CREATE TABLE key_balance (
  key_id TEXT COLLATE "C" PRIMARY KEY REFERENCES api_key (id),
  spent BIGINT NOT NULL DEFAULT 0 CHECK (spent >= 0),
  held BIGINT NOT NULL DEFAULT 0 CHECK (held >= 0),
  day BIGINT NOT NULL DEFAULT 0,
  day_count BIGINT NOT NULL DEFAULT 0 CHECK (day_count >= 0)
) WITH (fillfactor = 50);

CREATE TABLE usage (
  request_id TEXT COLLATE "C" PRIMARY KEY,
  client_request_id TEXT COLLATE "C",
  account_id TEXT COLLATE "C" NOT NULL,
  key_id TEXT COLLATE "C" NOT NULL,
  secret_last4 TEXT COLLATE "C" NOT NULL,
  endpoint TEXT COLLATE "C" NOT NULL,
  model_requested TEXT COLLATE "C",
  model_served TEXT COLLATE "C",
  provider TEXT COLLATE "C",
  attempts TEXT COLLATE "C",
  stream BIGINT NOT NULL,
  state TEXT COLLATE "C" NOT NULL CHECK (state IN ('open', 'settled', 'recovered')),
  outcome TEXT COLLATE "C",
  http_status BIGINT,
  error_code TEXT COLLATE "C",
  finish_reason TEXT COLLATE "C",
  prompt_tokens BIGINT NOT NULL DEFAULT 0,
  cached_tokens BIGINT NOT NULL DEFAULT 0,
  cache_write_tokens BIGINT NOT NULL DEFAULT 0,
  completion_tokens BIGINT NOT NULL DEFAULT 0,
  reasoning_tokens BIGINT NOT NULL DEFAULT 0,
  usage_source TEXT COLLATE "C" NOT NULL DEFAULT 'none',
  price_version TEXT COLLATE "C",
  price TEXT COLLATE "C",
  hold BIGINT NOT NULL DEFAULT 0 CHECK (hold >= 0),
  cost BIGINT NOT NULL DEFAULT 0 CHECK (cost >= 0),
  upstream_cost BIGINT,
  created_at BIGINT NOT NULL,
  first_byte_at BIGINT,
  finished_at BIGINT,
  client_ip TEXT COLLATE "C" NOT NULL,
  upstream_id TEXT COLLATE "C",
  owner TEXT COLLATE "C",
  checkpoint TEXT COLLATE "C",
  routing TEXT COLLATE "C"
);
CREATE INDEX usage_key ON usage (key_id, request_id);
CREATE INDEX usage_open ON usage (owner) WHERE state = 'open';

-- Append-only. A charge has its request's id, so that a second one cannot be written.
CREATE TABLE ledger (
  account_id TEXT COLLATE "C" NOT NULL REFERENCES account (id),
  id TEXT COLLATE "C" NOT NULL,
  kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('topup', 'adjustment', 'charge', 'correction')),
  amount BIGINT NOT NULL,
  request_id TEXT COLLATE "C",
  note TEXT COLLATE "C",
  idempotency_key TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  PRIMARY KEY (account_id, id),
  CHECK (kind <> 'charge' OR request_id = id)
);
CREATE UNIQUE INDEX ledger_idempotency ON ledger (account_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- `entered`: what an operator entered, as JSON without secrets; null for what a file declares.
CREATE TABLE provider (
  id TEXT COLLATE "C" PRIMARY KEY,
  spec TEXT COLLATE "C" NOT NULL,
  provisioned BIGINT NOT NULL,
  active BIGINT NOT NULL,
  version BIGINT NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL DEFAULT 0,
  entered TEXT COLLATE "C"
);

-- The secret is encrypted (AES-256-GCM) and bound to this provider and id; its last four characters are for display.
CREATE TABLE credential (
  provider_id TEXT COLLATE "C" NOT NULL REFERENCES provider (id),
  id TEXT COLLATE "C" NOT NULL,
  sealed TEXT COLLATE "C" NOT NULL,
  last4 TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (provider_id, id)
);

-- By the SHA-256 of its text; the greatest `turn` is the one in force.
CREATE TABLE applied_file (
  digest TEXT COLLATE "C" PRIMARY KEY,
  turn BIGINT NOT NULL,
  applied_at BIGINT NOT NULL
);

CREATE TABLE model (
  id TEXT COLLATE "C" PRIMARY KEY,
  spec TEXT COLLATE "C" NOT NULL,
  price TEXT COLLATE "C" NOT NULL,
  price_version TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  provisioned BIGINT NOT NULL,
  active BIGINT NOT NULL,
  version BIGINT NOT NULL DEFAULT 1,
  entered TEXT COLLATE "C"
);

CREATE TABLE price (
  model_id TEXT COLLATE "C" NOT NULL,
  version TEXT COLLATE "C" NOT NULL,
  price TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (model_id, version)
);

CREATE TABLE event (
  id TEXT COLLATE "C" PRIMARY KEY,
  at BIGINT NOT NULL,
  actor TEXT COLLATE "C" NOT NULL,
  address TEXT COLLATE "C" NOT NULL,
  action TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  detail TEXT COLLATE "C"
);

CREATE TABLE setting (
  name TEXT COLLATE "C" PRIMARY KEY,
  value TEXT COLLATE "C" NOT NULL
);

-- The nodes that share this database, by the owner of their rows: alive without a gap since, and until when.
CREATE TABLE node (
  owner TEXT COLLATE "C" PRIMARY KEY,
  since BIGINT NOT NULL,
  renewed_at BIGINT NOT NULL
);
