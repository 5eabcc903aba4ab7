CREATE TABLE audit_events (
    seq INTEGER PRIMARY KEY,
    millis INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    event_type TEXT NOT NULL,
    agent TEXT,
    server TEXT,
    result TEXT NOT NULL,
    trace BLOB NOT NULL,
    event TEXT NOT NULL,
    prev BLOB NOT NULL,
    hash BLOB NOT NULL
) STRICT;

-- It begins with the number, so that it grows at its end and a batch touches few pages. A search reads it from one end:
-- it is a tenth of the table.
CREATE INDEX audit_facets ON audit_events (seq, millis, bytes, event_type, agent, server, result, trace);

CREATE TABLE audit_head (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL
) STRICT;

CREATE TABLE audit_checkpoints (
    seq INTEGER PRIMARY KEY,
    hash BLOB NOT NULL,
    removed INTEGER NOT NULL,
    reason TEXT NOT NULL,
    told_by INTEGER NOT NULL
) STRICT;

CREATE TRIGGER audit_events_are_not_changed BEFORE UPDATE ON audit_events
BEGIN SELECT RAISE(ABORT, 'audit events are not changed'); END;

CREATE TRIGGER audit_events_are_kept BEFORE DELETE ON audit_events
WHEN OLD.seq > (SELECT coalesce(max(seq), 0) FROM audit_checkpoints)
BEGIN SELECT RAISE(ABORT, 'audit events are kept until a checkpoint covers them'); END;

-- INSERT OR REPLACE removes a row without asking the trigger above.
CREATE TRIGGER audit_events_are_added BEFORE INSERT ON audit_events
WHEN NEW.seq <= (SELECT seq FROM audit_head)
BEGIN SELECT RAISE(ABORT, 'audit events are added at the end'); END;

CREATE TRIGGER audit_head_moves_on BEFORE UPDATE ON audit_head
WHEN NEW.seq <= OLD.seq
BEGIN SELECT RAISE(ABORT, 'the end of the audit log moves on'); END;

CREATE TRIGGER audit_head_is_not_replaced BEFORE INSERT ON audit_head
WHEN NEW.seq <= (SELECT max(seq) FROM audit_head)
BEGIN SELECT RAISE(ABORT, 'the end of the audit log moves on'); END;

CREATE TRIGGER audit_head_is_kept BEFORE DELETE ON audit_head
BEGIN SELECT RAISE(ABORT, 'the end of the audit log is kept'); END;

CREATE TRIGGER audit_checkpoints_are_not_changed BEFORE UPDATE ON audit_checkpoints
BEGIN SELECT RAISE(ABORT, 'audit checkpoints are not changed'); END;

CREATE TRIGGER audit_checkpoints_are_kept BEFORE DELETE ON audit_checkpoints
BEGIN SELECT RAISE(ABORT, 'audit checkpoints are kept'); END;
