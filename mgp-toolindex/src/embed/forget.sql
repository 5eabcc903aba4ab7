-- Removes the vectors whose last use is the longest ago, until ?1 are left.
DELETE FROM vectors WHERE rowid IN (
    SELECT rowid FROM vectors ORDER BY used
    LIMIT max(0, (SELECT count(*) FROM vectors) - ?1)
)
