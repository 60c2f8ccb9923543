-- Whom to write to about an account, and its id in the operator's own system.
-- Older nodes keep both as they are.
-- serves: 18
ALTER TABLE account ADD COLUMN contact_email TEXT COLLATE "C";
ALTER TABLE account ADD COLUMN external_id TEXT COLLATE "C";
CREATE INDEX account_external ON account (external_id, id) WHERE external_id IS NOT NULL;

DROP VIEW account_now;
CREATE VIEW account_now AS
SELECT id, name, status, version, created_at, budgets, low_balance, contact_email, external_id, portal_key_limits, available, held,
  spent, owed, month, month_base
FROM account;
