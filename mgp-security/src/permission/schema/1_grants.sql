CREATE TABLE permission_grants (
    server TEXT NOT NULL,
    permission TEXT NOT NULL,
    decision TEXT NOT NULL CHECK (decision IN ('approved', 'denied')),
    scope TEXT,
    expires_at INTEGER,
    approver TEXT NOT NULL,
    decided_at INTEGER NOT NULL,
    PRIMARY KEY (server, permission)
) STRICT, WITHOUT ROWID;
