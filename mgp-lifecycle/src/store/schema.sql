-- A call with an idempotency key: who called what, and how it ended. `outcome` is empty while it is not known, or where
-- the result is too large to be kept. Files of before this section was in `mgp_schema` have the tables.
CREATE TABLE IF NOT EXISTS idempotent_calls (
    id BLOB PRIMARY KEY CHECK (length(id) = 32),
    caller BLOB NOT NULL CHECK (length(caller) = 32),
    arguments BLOB NOT NULL CHECK (length(arguments) = 32),
    begun_at INTEGER NOT NULL,
    ttl_seconds INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'done')),
    outcome TEXT
) STRICT;
-- What happened to transactions, in order.
CREATE TABLE IF NOT EXISTS transaction_log (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id BLOB NOT NULL CHECK (length(id) = 32),
    happened_at INTEGER NOT NULL,
    event TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS transaction_log_id ON transaction_log (id);
-- The version by which earlier versions of the program know these tables.
PRAGMA user_version = 1;
