ALTER TABLE permission_grants RENAME TO permission_grants_for_all;
CREATE TABLE permission_grants (
    server TEXT NOT NULL,
    permission TEXT NOT NULL,
    decision TEXT NOT NULL CHECK (decision IN ('approved', 'denied')),
    scope TEXT,
    expires_at INTEGER,
    approver TEXT NOT NULL,
    decided_at INTEGER NOT NULL,
    agent TEXT NOT NULL,
    PRIMARY KEY (server, permission, agent)
) STRICT, WITHOUT ROWID;
INSERT INTO permission_grants
    SELECT server, permission, decision, scope, expires_at, approver, decided_at, '' FROM permission_grants_for_all;
DROP TABLE permission_grants_for_all;
