-- serves: 9
-- Prompt tokens that were written to a cache for one hour, which have a price of their own: part of cache_write_tokens.
-- Without a CHECK, which would read every row under a lock that all other nodes wait for.
ALTER TABLE usage ADD COLUMN cache_write_1h_tokens BIGINT NOT NULL DEFAULT 0;
