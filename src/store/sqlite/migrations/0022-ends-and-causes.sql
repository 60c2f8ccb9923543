-- The valid keys of an account, and links and sessions whose end has passed, are found by index.
CREATE INDEX api_key_valid ON api_key (account_id, id) WHERE revoked_at IS NULL AND expired_at IS NULL;
CREATE INDEX portal_link_unused ON portal_link (expires_at) WHERE used_at IS NULL;
CREATE INDEX portal_session_open ON portal_session (expires_at) WHERE ended_at IS NULL;
CREATE INDEX portal_session_used ON portal_session (used_at) WHERE ended_at IS NULL;
CREATE INDEX session_expiry ON session (expires_at);
CREATE INDEX session_used ON session (used_at);

-- Failures that may have a cost are summed by their cause. Hours in which a sum has more than one are summed up again, in the
-- background, and then the totals and days.
UPDATE usage_rolled SET mark = mark + 1 WHERE dropped = 0 AND mark > 0 AND hour IN (
  SELECT hour FROM usage_hour WHERE outcome IN ('upstream_failed', 'upstream_broke')
    AND requests NOT IN (caller_errors, limits_errors, money_errors, provider_errors)
    AND caller_errors + limits_errors + money_errors + provider_errors > 0);
