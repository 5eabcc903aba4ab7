-- Stores the copy $4 of the order $1 as it is after the entry $2, with its link $3, unless a newer copy is there. Removes the
-- entries before it but for the last $5.
WITH stored AS (
    INSERT INTO mgp_snapshot (name, version, link, body) VALUES ($1, $2, $3, $4)
    ON CONFLICT (name) DO UPDATE
    SET version = excluded.version, link = excluded.link, body = excluded.body
    WHERE mgp_snapshot.version < excluded.version
), begun AS (
    INSERT INTO mgp_order (name, version) VALUES ($1, $2) ON CONFLICT DO NOTHING
)
DELETE FROM mgp_entry WHERE name = $1 AND version <= $2 - $5
