-- The part of each kernel's record that the shared database has: from behind one event up to another, as the kernel itself says.
CREATE TABLE vouched_chains (
    kernel TEXT PRIMARY KEY, begin_seq INTEGER NOT NULL, begin_hash TEXT NOT NULL, seq INTEGER NOT NULL, hash TEXT NOT NULL
) STRICT;
