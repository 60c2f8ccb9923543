-- A chat writes to the end of the file alone: balances change by appending to a journal, and the index by key is maintained in bulk.

-- What one batch changed in the balances of a key and of its account; `day` and `day_count` are the new values, the others are
-- added. About once a second the entries are applied to `account` and `key_balance`, and deleted, in one transaction.
CREATE TABLE balance_journal (
  seq INTEGER PRIMARY KEY,
  account_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  available INTEGER NOT NULL,
  held INTEGER NOT NULL,
  spent INTEGER NOT NULL,
  owed INTEGER NOT NULL,
  key_spent INTEGER NOT NULL,
  key_held INTEGER NOT NULL,
  day INTEGER NOT NULL,
  day_count INTEGER NOT NULL
) STRICT;

-- Balances at this instant: stored values and the journal.
CREATE VIEW account_now AS
SELECT a.id, a.name, a.status, a.version, a.created_at,
  a.available + COALESCE(j.available, 0) AS available, a.held + COALESCE(j.held, 0) AS held,
  a.spent + COALESCE(j.spent, 0) AS spent, a.owed + COALESCE(j.owed, 0) AS owed
FROM account a LEFT JOIN (
  SELECT account_id, SUM(available) AS available, SUM(held) AS held, SUM(spent) AS spent, SUM(owed) AS owed
  FROM balance_journal GROUP BY account_id
) j ON j.account_id = a.id;

-- Of several entries of a key, `day` and `day_count` are those of the last: SQLite takes them from the row of the maximum.
CREATE VIEW key_balance_now AS
SELECT b.key_id, b.spent + COALESCE(j.spent, 0) AS spent, b.held + COALESCE(j.held, 0) AS held,
  COALESCE(j.day, b.day) AS day, COALESCE(j.day_count, b.day_count) AS day_count
FROM key_balance b LEFT JOIN (
  SELECT key_id, SUM(key_spent) AS spent, SUM(key_held) AS held, MAX(seq) AS last, day, day_count
  FROM balance_journal GROUP BY key_id
) j ON j.key_id = b.key_id;

-- The rows of a key, in two parts: an index, and the newest rows, in the order of their time, which are moved to it in bulk. A row
-- that is being moved is in both.
CREATE TABLE usage_by_key (
  key_id TEXT NOT NULL,
  request_id TEXT NOT NULL,
  PRIMARY KEY (key_id, request_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE usage_recent (
  request_id TEXT PRIMARY KEY,
  key_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE VIEW usage_of_key AS
SELECT key_id, request_id FROM usage_by_key UNION ALL SELECT key_id, request_id FROM usage_recent;

INSERT INTO usage_by_key SELECT key_id, request_id FROM usage ORDER BY key_id, request_id;
DROP INDEX usage_key;
CREATE TRIGGER usage_inserted AFTER INSERT ON usage BEGIN
  INSERT INTO usage_recent (request_id, key_id) VALUES (NEW.request_id, NEW.key_id);
END;
CREATE TRIGGER usage_deleted AFTER DELETE ON usage BEGIN
  DELETE FROM usage_recent WHERE request_id = OLD.request_id;
  DELETE FROM usage_by_key WHERE key_id = OLD.key_id AND request_id = OLD.request_id;
END;

-- A charge is its usage row. Charges that older versions wrote to the ledger stay, and are no longer read.
CREATE INDEX ledger_entry ON ledger (account_id, id) WHERE kind <> 'charge';
