-- Operators with their own tokens, their sessions, a version of accounts against lost updates, and events by their subject.

CREATE TABLE operator (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('admin', 'viewer')),
  token_hash TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX operator_name ON operator (lower(name));
CREATE INDEX operator_token ON operator (token_hash);

-- Only the hash of a session's secret is stored.
CREATE TABLE session (
  id TEXT PRIMARY KEY,
  operator_id TEXT NOT NULL REFERENCES operator (id),
  secret_hash TEXT NOT NULL,
  address TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX session_secret ON session (secret_hash);
CREATE INDEX session_operator ON session (operator_id, id);

ALTER TABLE account ADD COLUMN version INTEGER NOT NULL DEFAULT 1;

CREATE INDEX event_subject ON event (subject, id);
