-- From which schema on code may serve on the database as a migration left it: what a file says by a line "serves", so that
-- a node of an older version that restarts amid a rolling update is refused only where it would do harm.
-- serves: 1
ALTER TABLE turnpike_schema ADD COLUMN serves_from BIGINT;
UPDATE turnpike_schema SET serves_from = 1;
