-- Webhooks, their deliveries, and alarms that are raised once.
-- Older nodes raise fewer events and deliver none.
-- serves: 12

CREATE TABLE webhook (
  id TEXT COLLATE "C" PRIMARY KEY,
  url TEXT COLLATE "C" NOT NULL,
  -- JSON: a list of types and patterns.
  events TEXT COLLATE "C" NOT NULL,
  account_id TEXT COLLATE "C",
  description TEXT COLLATE "C" NOT NULL,
  format TEXT COLLATE "C" NOT NULL CHECK (format IN ('standard', 'slack')),
  -- Both are encrypted.
  secret TEXT COLLATE "C" NOT NULL,
  previous_secret TEXT COLLATE "C",
  previous_until BIGINT,
  enabled BIGINT NOT NULL DEFAULT 1,
  -- Deliveries up to this id are not sent any more: it was disabled after them.
  resumed_after TEXT COLLATE "C" NOT NULL DEFAULT '',
  disabled_at BIGINT,
  disabled_reason TEXT COLLATE "C",
  failing_since BIGINT,
  retry_at BIGINT,
  -- The node that delivers, and until when it alone may.
  owner TEXT COLLATE "C",
  leased_until BIGINT,
  -- The one that has waited longest goes first.
  claimed_at BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  version BIGINT NOT NULL DEFAULT 1
);

-- Ids sort in the order of delivery.
CREATE TABLE webhook_delivery (
  id TEXT COLLATE "C" PRIMARY KEY,
  webhook_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  status TEXT COLLATE "C" NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed', 'canceled')),
  attempts BIGINT NOT NULL DEFAULT 0,
  response_status BIGINT,
  error TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  attempted_at BIGINT,
  duration_ms BIGINT,
  finished_at BIGINT
);
CREATE INDEX webhook_delivery_of ON webhook_delivery (webhook_id, id);
CREATE INDEX webhook_delivery_waiting ON webhook_delivery (webhook_id, id) WHERE status = 'pending';

CREATE TABLE alarm (name TEXT COLLATE "C" PRIMARY KEY, raised_at BIGINT NOT NULL);

-- The expiry that was announced; null: none yet.
ALTER TABLE api_key ADD COLUMN expiry_announced BIGINT;
CREATE INDEX api_key_unannounced ON api_key (expires_at)
  WHERE expires_at IS NOT NULL AND expiry_announced IS NULL AND revoked_at IS NULL;
