CREATE TABLE definition_remarks (
    server TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    remark TEXT NOT NULL,
    PRIMARY KEY (server, kind, name, digest, remark)
) STRICT, WITHOUT ROWID;
CREATE TABLE definition_entries (
    server TEXT NOT NULL,
    kind TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (server, kind)
) STRICT, WITHOUT ROWID;
