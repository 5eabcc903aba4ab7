CREATE TABLE api_keys (
    id TEXT PRIMARY KEY,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    owner TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('agent', 'operator')),
    permissions TEXT NOT NULL,
    rate_limit TEXT,
    label TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_used INTEGER,
    expires_at INTEGER
) STRICT;
