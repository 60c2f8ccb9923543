-- Prompt tokens of images and of audio, which may have a price of their own: neither read from a cache nor written to one.
-- Without a CHECK, which would read every row.
ALTER TABLE usage ADD COLUMN image_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN audio_tokens INTEGER NOT NULL DEFAULT 0;
