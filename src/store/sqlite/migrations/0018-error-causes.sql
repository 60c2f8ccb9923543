-- Failed requests by whose doing it was, in the sums.
ALTER TABLE usage_hour ADD COLUMN caller_errors INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_hour ADD COLUMN limits_errors INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_hour ADD COLUMN money_errors INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_hour ADD COLUMN provider_errors INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_day ADD COLUMN caller_errors INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_day ADD COLUMN limits_errors INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_day ADD COLUMN money_errors INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_day ADD COLUMN provider_errors INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_hour_total ADD COLUMN caller_errors INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_hour_total ADD COLUMN limits_errors INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_hour_total ADD COLUMN money_errors INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_hour_total ADD COLUMN provider_errors INTEGER NOT NULL DEFAULT 0;

-- Of hours whose rows are gone, what can be told from their sums: refusals there have no cause. All others are summed up again, in
-- the background, and then the totals and days.
UPDATE usage_hour SET provider_errors = requests
  WHERE outcome IN ('upstream_failed', 'upstream_broke') AND hour IN (SELECT hour FROM usage_rolled WHERE dropped <> 0);
UPDATE usage_rolled SET mark = mark + 1 WHERE dropped = 0 AND mark > 0;
DELETE FROM usage_rolled_total;
DELETE FROM usage_rolled_day;
