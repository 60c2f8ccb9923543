-- Ends that a wrong clock has stored are found by their time, and refusals beyond a rate share a row that counts them.
-- serves: 1
CREATE INDEX api_key_expired ON api_key (expired_at) WHERE expired_at IS NOT NULL;
-- Without a CHECK, which would read every row under a lock that all other nodes wait for.
ALTER TABLE usage ADD COLUMN requests BIGINT NOT NULL DEFAULT 1;
