-- The last batch that a node has committed: written by the transaction of the batch itself, so that a node whose commit was
-- not answered can tell whether it was done. A node of the version before leaves it as it is.
-- serves: 1
ALTER TABLE node ADD COLUMN batch BIGINT NOT NULL DEFAULT 0;
-- Its row changes with every batch: half of each page is left for the next versions of its rows.
ALTER TABLE node SET (fillfactor = 50);
