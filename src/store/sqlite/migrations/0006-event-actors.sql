-- Which operator did it, by the id that no rename changes.

ALTER TABLE event ADD COLUMN actor_id TEXT;
