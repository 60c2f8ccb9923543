-- serves: 15
-- Prompt tokens of images and of audio, which may have a price of their own: neither read from a cache nor written to one. A node
-- of an older version would bill neither them nor price tiers.
-- Without a CHECK, which would read every row under a lock that all other nodes wait for.
ALTER TABLE usage ADD COLUMN image_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN audio_tokens BIGINT NOT NULL DEFAULT 0;
