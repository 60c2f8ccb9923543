-- The operator of an event, by the id, which a rename does not change.
-- serves: 1

ALTER TABLE event ADD COLUMN actor_id TEXT COLLATE "C";
