-- Operators with their own tokens, their sessions, a version of accounts against lost updates, and events by their subject.
-- serves: 1

CREATE TABLE operator (
  id TEXT COLLATE "C" PRIMARY KEY,
  name TEXT COLLATE "C" NOT NULL,
  role TEXT COLLATE "C" NOT NULL CHECK (role IN ('admin', 'viewer')),
  token_hash TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  last_used_at BIGINT
);
CREATE UNIQUE INDEX operator_name ON operator (lower(name));
CREATE INDEX operator_token ON operator (token_hash);

-- Only the hash of a session's secret is stored.
CREATE TABLE session (
  id TEXT COLLATE "C" PRIMARY KEY,
  operator_id TEXT COLLATE "C" NOT NULL REFERENCES operator (id),
  secret_hash TEXT COLLATE "C" NOT NULL,
  address TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX session_secret ON session (secret_hash);
CREATE INDEX session_operator ON session (operator_id, id);

ALTER TABLE account ADD COLUMN version BIGINT NOT NULL DEFAULT 1;

CREATE INDEX event_subject ON event (subject, id);
