-- The operator of an event, by the id, which a rename does not change.

ALTER TABLE event ADD COLUMN actor_id TEXT;
