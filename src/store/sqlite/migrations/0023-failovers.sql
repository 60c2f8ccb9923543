-- Requests that needed more than one attempt, in the sums. Of hours whose rows are gone it is not known. All others are summed up
-- again, in the background, and then the totals and days.
ALTER TABLE usage_hour ADD COLUMN failovers INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_day ADD COLUMN failovers INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_hour_total ADD COLUMN failovers INTEGER NOT NULL DEFAULT 0;

UPDATE usage_rolled SET mark = mark + 1 WHERE dropped = 0 AND mark > 0;
DELETE FROM usage_rolled_total;
DELETE FROM usage_rolled_day;
