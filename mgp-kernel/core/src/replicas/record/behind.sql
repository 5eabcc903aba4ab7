-- The next events of a kernel behind a number: the number, the body and the link of each.
SELECT coalesce(json_agg(json_build_array(seq, body, hash) ORDER BY seq), '[]')::text FROM (
    SELECT seq, body, hash FROM mgp_event
    WHERE writer = ($1::text::json ->> 'kernel') AND seq > ($1::text::json ->> 'seq')::bigint ORDER BY seq LIMIT 500
) AS page
