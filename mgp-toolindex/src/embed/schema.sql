-- Vectors by the embedder that made them and the hash of the passage; `used` is the number that `clock` had at the last use.
CREATE TABLE vectors (
    embedder TEXT NOT NULL,
    passage BLOB NOT NULL,
    used INTEGER NOT NULL,
    scale REAL NOT NULL,
    numbers BLOB NOT NULL,
    UNIQUE (embedder, passage)
) STRICT;
CREATE INDEX vectors_used ON vectors (used);
CREATE TABLE clock (uses INTEGER NOT NULL) STRICT;
INSERT INTO clock VALUES (0);
