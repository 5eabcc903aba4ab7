-- The part of each kernel's record that the shared database has, as the kernel itself says: from behind one event up to another.
CREATE TABLE vouched_chains (
    kernel TEXT PRIMARY KEY, begin_seq INTEGER NOT NULL, begin_hash BLOB NOT NULL, seq INTEGER NOT NULL, hash BLOB NOT NULL
) STRICT;
