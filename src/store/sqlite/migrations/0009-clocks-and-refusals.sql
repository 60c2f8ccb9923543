-- Ends that a wrong clock has written down are found by their time, and refusals past a rate share a row that counts them.
CREATE INDEX api_key_expired ON api_key (expired_at) WHERE expired_at IS NOT NULL;
-- Without a CHECK, for which every row would be read.
ALTER TABLE usage ADD COLUMN requests INTEGER NOT NULL DEFAULT 1;
