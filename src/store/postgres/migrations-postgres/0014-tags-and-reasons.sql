-- Models and tags of keys, tags of requests, and why a request was refused or failed.
-- A node of an older version would not enforce the models, and would sum without tags.
-- serves: 14

-- JSON: a list of ids and patterns; names and values.
ALTER TABLE api_key ADD COLUMN allowed_models TEXT COLLATE "C" NOT NULL DEFAULT '[]';
ALTER TABLE api_key ADD COLUMN tags TEXT COLLATE "C" NOT NULL DEFAULT '{}';

-- JSON with sorted names. Null: none.
ALTER TABLE usage ADD COLUMN tags TEXT COLLATE "C";
ALTER TABLE usage ADD COLUMN error_message TEXT COLLATE "C";
-- JSON: the figures of a refusal.
ALTER TABLE usage ADD COLUMN error_detail TEXT COLLATE "C";

-- Tags are a dimension of the sums. The key has their hash, since they may be longer than an index allows.
ALTER TABLE usage_hour ADD COLUMN tags_hash TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE usage_hour ADD COLUMN tags TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE usage_hour DROP CONSTRAINT usage_hour_pkey;
ALTER TABLE usage_hour ADD PRIMARY KEY (hour, account_id, key_id, model, provider, endpoint, outcome, tags_hash);
ALTER TABLE usage_day ADD COLUMN tags_hash TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE usage_day ADD COLUMN tags TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE usage_day DROP CONSTRAINT usage_day_pkey;
ALTER TABLE usage_day ADD PRIMARY KEY (day, account_id, key_id, model, provider, endpoint, outcome, tags_hash);
