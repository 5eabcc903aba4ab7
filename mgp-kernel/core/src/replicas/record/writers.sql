-- The kernels of which there are events: one look into the index for each, where `DISTINCT` would read all of it.
WITH RECURSIVE found AS (
    SELECT min(writer) AS writer FROM mgp_event WHERE $1::text IS NOT NULL
    UNION ALL
    SELECT (SELECT min(writer) FROM mgp_event WHERE writer > found.writer) FROM found WHERE found.writer IS NOT NULL
)
SELECT coalesce(json_agg(writer), '[]')::text FROM found WHERE writer IS NOT NULL
