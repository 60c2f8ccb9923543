-- The oldest code schema that may serve after a migration, as stated by its line "serves", so that a node of an older version
-- that restarts during a rolling update is refused only where it would do harm.
-- serves: 1
ALTER TABLE turnpike_schema ADD COLUMN serves_from BIGINT;
UPDATE turnpike_schema SET serves_from = 1;
