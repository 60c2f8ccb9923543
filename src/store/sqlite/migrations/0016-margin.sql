-- Requests that a provider served and whose upstream cost is unknown, in the sums: their number, and what their callers paid.
ALTER TABLE usage_hour ADD COLUMN requests_without_upstream_cost INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_hour ADD COLUMN cost_without_upstream_cost INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_day ADD COLUMN requests_without_upstream_cost INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_day ADD COLUMN cost_without_upstream_cost INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_hour_total ADD COLUMN requests_without_upstream_cost INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_hour_total ADD COLUMN cost_without_upstream_cost INTEGER NOT NULL DEFAULT 0;

-- Of hours whose rows are gone, what can be told from their sums. All others are summed up again, in the background, and then the
-- totals and days.
UPDATE usage_hour SET requests_without_upstream_cost = requests, cost_without_upstream_cost = cost
  WHERE provider <> '' AND upstream_cost = 0 AND hour IN (SELECT hour FROM usage_rolled WHERE dropped <> 0);
UPDATE usage_rolled SET mark = mark + 1 WHERE dropped = 0 AND mark > 0;
DELETE FROM usage_rolled_total;
DELETE FROM usage_rolled_day;
