-- The kind becomes part of the primary key, which SQLite cannot change in place.
ALTER TABLE definition_pins RENAME TO definition_pins_of_tools;
CREATE TABLE definition_pins (
    server TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    approved BLOB,
    pending BLOB,
    PRIMARY KEY (server, kind, name),
    CHECK (approved IS NOT NULL OR pending IS NOT NULL)
) STRICT, WITHOUT ROWID;
INSERT INTO definition_pins (server, kind, name, approved, pending)
    SELECT server, 'tool', tool, approved, pending FROM definition_pins_of_tools;
DROP TABLE definition_pins_of_tools;
