-- A catalog that operators edit: versions against lost updates, what they entered, their encrypted credentials, and which
-- configuration files were applied.

ALTER TABLE provider ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE provider ADD COLUMN created_at INTEGER NOT NULL DEFAULT 0;
-- What an operator entered, as JSON without secrets; null for what a file declares.
ALTER TABLE provider ADD COLUMN entered TEXT;
ALTER TABLE model ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE model ADD COLUMN entered TEXT;

-- The secret is encrypted (AES-256-GCM) and bound to this provider and id; its last four characters are for display.
CREATE TABLE credential (
  provider_id TEXT NOT NULL REFERENCES provider (id),
  id TEXT NOT NULL,
  sealed TEXT NOT NULL,
  last4 TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (provider_id, id)
) STRICT, WITHOUT ROWID;

-- By the SHA-256 of its text; the greatest `turn` is the one in force.
CREATE TABLE applied_file (
  digest TEXT PRIMARY KEY,
  turn INTEGER NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
