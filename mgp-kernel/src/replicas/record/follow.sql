-- The next events of all kernels behind the last one of each in `after`, by time, as far as `QueryEvents` asks for them, and the
-- number of the last event of each kernel that was looked at. Events of one kernel come in the order of their numbers, so that
-- none is left out, whatever its clock says.
WITH RECURSIVE kernels AS (
    SELECT min(writer) AS writer FROM mgp_event WHERE $1::text IS NOT NULL
    UNION ALL
    SELECT (SELECT min(writer) FROM mgp_event WHERE writer > kernels.writer) FROM kernels WHERE kernels.writer IS NOT NULL
), upcoming AS (
    SELECT ahead.*, max(place) OVER (PARTITION BY ahead.writer ORDER BY seq) AS turn,
        coalesce(place >= mgp_millis($1::text::json ->> 'since') * 4096, true)
        AND coalesce(place < mgp_millis($1::text::json ->> 'until') * 4096, true)
        AND (json_array_length($1::text::json -> 'event_types') = 0
            OR event_type IN (SELECT json_array_elements_text($1::text::json -> 'event_types')))
        AND (($1::text::json ->> 'agent_id') IS NULL OR agent = ($1::text::json ->> 'agent_id')
            OR (($1::text::json ->> 'agent_id') = 'local' AND agent LIKE 'local/%'))
        AND (($1::text::json ->> 'server_id') IS NULL OR server = ($1::text::json ->> 'server_id'))
        AND (($1::text::json ->> 'result') IS NULL OR result = ($1::text::json ->> 'result'))
        AND (($1::text::json ->> 'trace_id') IS NULL OR trace = ($1::text::json ->> 'trace_id')) AS is_wanted
    FROM kernels, LATERAL (
        SELECT * FROM mgp_event
        WHERE mgp_event.writer = kernels.writer
            AND seq > coalesce(($1::text::json -> 'after' ->> kernels.writer)::bigint, -1)
        ORDER BY seq LIMIT 10000
    ) AS ahead
), counted AS (
    SELECT *, count(*) FILTER (WHERE is_wanted) OVER (ORDER BY turn, writer, seq) AS number FROM upcoming
), page AS (
    SELECT * FROM counted WHERE number <= least(greatest(coalesce(($1::text::json ->> 'limit')::int, 50), 1), 1000)
)
SELECT json_build_object(
    'events', (
        SELECT coalesce(json_agg(
            json_build_object('kernel', writer, 'seq', seq, 'hash', hash, 'event', body::json) ORDER BY turn, writer, seq
        ) FILTER (WHERE is_wanted), '[]') FROM page
    ),
    'ends', (
        SELECT coalesce(json_object_agg(writer, last), '{}')
        FROM (SELECT writer, max(seq) AS last FROM page GROUP BY writer) AS ends
    )
)::text
