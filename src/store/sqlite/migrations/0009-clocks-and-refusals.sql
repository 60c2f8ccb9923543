-- Ends that a wrong clock has stored are found by their time, and refusals beyond a rate share a row that counts them.
CREATE INDEX api_key_expired ON api_key (expired_at) WHERE expired_at IS NOT NULL;
-- Without a CHECK, which would read every row.
ALTER TABLE usage ADD COLUMN requests INTEGER NOT NULL DEFAULT 1;
