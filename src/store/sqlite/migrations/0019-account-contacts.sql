-- Whom to write to about an account, and its id in the operator's own system.
ALTER TABLE account ADD COLUMN contact_email TEXT;
ALTER TABLE account ADD COLUMN external_id TEXT;
CREATE INDEX account_external ON account (external_id, id) WHERE external_id IS NOT NULL;

DROP VIEW account_now;
CREATE VIEW account_now AS
SELECT a.id, a.name, a.status, a.version, a.created_at, a.budgets, a.low_balance, a.contact_email, a.external_id,
  a.portal_key_limits,
  a.available + COALESCE(j.available, 0) AS available, a.held + COALESCE(j.held, 0) AS held,
  a.spent + COALESCE(j.spent, 0) AS spent, a.owed + COALESCE(j.owed, 0) AS owed,
  MAX(a.month, COALESCE(j.month, 0)) AS month, a.month_base + COALESCE(j.month_base, 0) AS month_base
FROM account a LEFT JOIN (
  SELECT account_id, SUM(available) AS available, SUM(held) AS held, SUM(spent) AS spent, SUM(owed) AS owed,
    MAX(month) AS month, SUM(month_base) AS month_base
  FROM balance_journal GROUP BY account_id
) j ON j.account_id = a.id;
