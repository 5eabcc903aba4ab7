CREATE TABLE definition_verdicts (
    kind TEXT NOT NULL,
    digest TEXT NOT NULL,
    scanner TEXT NOT NULL,
    findings TEXT NOT NULL,
    PRIMARY KEY (kind, digest)
) STRICT, WITHOUT ROWID;
