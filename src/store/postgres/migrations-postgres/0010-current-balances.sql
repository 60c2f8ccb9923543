-- serves: 9
-- The names by which reports and audits read balances and the rows of a key: on SQLite both are in two parts, here in one.
CREATE VIEW account_now AS
SELECT id, name, status, version, created_at, available, held, spent, owed FROM account;
CREATE VIEW key_balance_now AS SELECT key_id, spent, held, day, day_count FROM key_balance;

-- A charge is its usage row. Charges that older versions wrote to the ledger stay, and are no longer read.
CREATE INDEX ledger_entry ON ledger (account_id, id) WHERE kind <> 'charge';
