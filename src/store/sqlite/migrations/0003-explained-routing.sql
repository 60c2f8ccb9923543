-- The candidates for a request, in order and with reasons.

ALTER TABLE usage ADD COLUMN routing TEXT;
