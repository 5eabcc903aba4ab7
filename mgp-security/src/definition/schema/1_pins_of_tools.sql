CREATE TABLE definition_pins (
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    approved BLOB,
    pending BLOB,
    PRIMARY KEY (server, tool),
    CHECK (approved IS NOT NULL OR pending IS NOT NULL)
) STRICT, WITHOUT ROWID;
