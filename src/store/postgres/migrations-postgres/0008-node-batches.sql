-- The last batch that a node has committed: written by the batch's own transaction, so that a node whose commit was not answered
-- can tell whether it was done. Nodes of the previous version leave it unchanged.
-- serves: 1
ALTER TABLE node ADD COLUMN batch BIGINT NOT NULL DEFAULT 0;
-- Its row changes with every batch: half of each page is left free for new versions of its rows.
ALTER TABLE node SET (fillfactor = 50);
