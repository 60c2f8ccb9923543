-- Webhooks, their deliveries, and alarms that are raised once.

CREATE TABLE webhook (
  id TEXT PRIMARY KEY,
  url TEXT NOT NULL,
  -- JSON: a list of types and patterns.
  events TEXT NOT NULL,
  account_id TEXT,
  description TEXT NOT NULL,
  format TEXT NOT NULL CHECK (format IN ('standard', 'slack')),
  -- Both are encrypted.
  secret TEXT NOT NULL,
  previous_secret TEXT,
  previous_until INTEGER,
  enabled INTEGER NOT NULL DEFAULT 1,
  -- Deliveries up to this id are not sent any more: it was disabled after them.
  resumed_after TEXT NOT NULL DEFAULT '',
  disabled_at INTEGER,
  disabled_reason TEXT,
  failing_since INTEGER,
  retry_at INTEGER,
  -- The node that delivers, and until when it alone may.
  owner TEXT,
  leased_until INTEGER,
  -- The one that has waited longest goes first.
  claimed_at INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  version INTEGER NOT NULL DEFAULT 1
) STRICT, WITHOUT ROWID;

-- Ids sort in the order of delivery.
CREATE TABLE webhook_delivery (
  id TEXT PRIMARY KEY,
  webhook_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed', 'canceled')),
  attempts INTEGER NOT NULL DEFAULT 0,
  response_status INTEGER,
  error TEXT,
  created_at INTEGER NOT NULL,
  attempted_at INTEGER,
  duration_ms INTEGER,
  finished_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_delivery_of ON webhook_delivery (webhook_id, id);
CREATE INDEX webhook_delivery_waiting ON webhook_delivery (webhook_id, id) WHERE status = 'pending';

CREATE TABLE alarm (name TEXT PRIMARY KEY, raised_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- The expiry that was announced; null: none yet.
ALTER TABLE api_key ADD COLUMN expiry_announced INTEGER;
CREATE INDEX api_key_unannounced ON api_key (expires_at)
  WHERE expires_at IS NOT NULL AND expiry_announced IS NULL AND revoked_at IS NULL;
