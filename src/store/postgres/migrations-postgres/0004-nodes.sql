-- What a node reports about itself in addition to its lease. Nodes of the previous version do not write these: hence the
-- defaults.
-- serves: 1
ALTER TABLE node ADD COLUMN name TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE node ADD COLUMN version TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE node ADD COLUMN started_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN in_flight BIGINT NOT NULL DEFAULT 0;
