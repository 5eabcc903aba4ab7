BEGIN;
-- A call with an idempotency key: who called what, and how it ended. `outcome` is empty while it is not known, or where
-- the result is too large to be kept.
CREATE TABLE idempotent_calls (
    id BLOB PRIMARY KEY CHECK (length(id) = 32),
    caller BLOB NOT NULL CHECK (length(caller) = 32),
    arguments BLOB NOT NULL CHECK (length(arguments) = 32),
    begun_at INTEGER NOT NULL,
    ttl_seconds INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'done')),
    outcome TEXT
) STRICT;
-- What happened to transactions, in order.
CREATE TABLE transaction_log (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id BLOB NOT NULL CHECK (length(id) = 32),
    happened_at INTEGER NOT NULL,
    event TEXT NOT NULL
) STRICT;
CREATE INDEX transaction_log_id ON transaction_log (id);
PRAGMA user_version = 1;
COMMIT;
