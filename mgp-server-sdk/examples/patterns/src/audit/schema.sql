CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    millis INTEGER NOT NULL,
    hour INTEGER NOT NULL,
    event_type TEXT NOT NULL,
    -- Empty if no agent acted.
    agent TEXT NOT NULL,
    -- Empty if the event is about no server.
    server TEXT NOT NULL,
    result TEXT NOT NULL,
    trace BLOB NOT NULL,
    -- The number that the kernel gave the event.
    seq INTEGER,
    event TEXT NOT NULL
) STRICT;

-- The identity of an event: its number in the kernel's record. A kernel whose record began anew counts from one again,
-- but at another time and in another trace.
CREATE UNIQUE INDEX events_once ON events (seq, millis, trace) WHERE seq IS NOT NULL;

CREATE INDEX events_by_trace ON events (trace);

-- It begins with the number, so that it grows at its end. A search reads a block of it: it is a fraction of the table.
CREATE INDEX events_facets ON events (id, millis, event_type, agent, server, result);

-- How many events of each kind there are in each block of 1024 events. A search looks into those blocks only that have
-- what it searches, and statistics add these numbers up.
CREATE TABLE counts (
    block INTEGER NOT NULL,
    hour INTEGER NOT NULL,
    event_type TEXT NOT NULL,
    agent TEXT NOT NULL,
    server TEXT NOT NULL,
    result TEXT NOT NULL,
    events INTEGER NOT NULL,
    PRIMARY KEY (block, hour, event_type, agent, server, result)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER events_are_counted AFTER INSERT ON events
BEGIN
    INSERT INTO counts VALUES
        (NEW.id / 1024, NEW.hour, NEW.event_type, NEW.agent, NEW.server, NEW.result, 1)
        ON CONFLICT DO UPDATE SET events = events + 1;
END;

CREATE TRIGGER removed_events_are_not_counted AFTER DELETE ON events
BEGIN
    UPDATE counts SET events = events - 1
        WHERE block = OLD.id / 1024 AND hour = OLD.hour AND event_type = OLD.event_type AND agent = OLD.agent
            AND server = OLD.server AND result = OLD.result;
    DELETE FROM counts
        WHERE block = OLD.id / 1024 AND hour = OLD.hour AND event_type = OLD.event_type AND agent = OLD.agent
            AND server = OLD.server AND result = OLD.result AND events = 0;
END;
