-- Which operator did it, by the id that no rename changes.
-- serves: 1

ALTER TABLE event ADD COLUMN actor_id TEXT COLLATE "C";
