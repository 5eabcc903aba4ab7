-- Files of before this section was in `mgp_schema` have the table, under the version of the file.
CREATE TABLE IF NOT EXISTS registered_servers (
    id TEXT PRIMARY KEY CHECK (id <> ''),
    record TEXT NOT NULL
) STRICT;
PRAGMA user_version = 1;
