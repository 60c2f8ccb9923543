-- The search over everything finds the beginnings of names, and the last four of secrets, by index.
-- serves: 18
CREATE INDEX account_name ON account (lower(name));
CREATE INDEX account_email ON account (lower(contact_email)) WHERE contact_email IS NOT NULL;
CREATE INDEX api_key_name ON api_key (lower(name));
CREATE INDEX secret_last4 ON secret (last4, key_id);
