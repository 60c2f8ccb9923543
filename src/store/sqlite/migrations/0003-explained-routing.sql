-- Who was considered for a request, in which order and why.

ALTER TABLE usage ADD COLUMN routing TEXT;
