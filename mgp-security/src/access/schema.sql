CREATE TABLE access_entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    agent TEXT NOT NULL CHECK (agent <> ''),
    server TEXT NOT NULL CHECK (server <> ''),
    tool TEXT NOT NULL,
    permission TEXT NOT NULL CHECK (permission IN ('allow', 'deny')),
    granted_by TEXT NOT NULL,
    label TEXT,
    justification TEXT,
    granted_at INTEGER NOT NULL,
    expires_at INTEGER,
    UNIQUE (agent, server, tool)
) STRICT;
