-- Removes the events of a kernel up to a number, and selects the last of the next 10,000 that is too old, as are all before it.
-- What is asked for stands in the conditions themselves, so that the plan is made for it.
WITH removed AS (
    DELETE FROM mgp_event WHERE writer = ($1::text::json ->> 'kernel') AND seq <= ($1::text::json ->> 'seq')::bigint
), upcoming AS (
    SELECT seq, hash, place FROM mgp_event
    WHERE writer = ($1::text::json ->> 'kernel') AND seq > ($1::text::json ->> 'seq')::bigint ORDER BY seq LIMIT 10000
), judged AS (
    SELECT seq, hash, bool_and(place < (
        SELECT (extract(epoch FROM now() - make_interval(days => ($1::text::json ->> 'days')::int)) * 1000)::bigint * 4096
    )) OVER (ORDER BY seq) AS are_old FROM upcoming
)
SELECT coalesce((
    SELECT json_build_object('seq', seq, 'hash', hash) FROM judged WHERE are_old ORDER BY seq DESC LIMIT 1
)::text, 'null')
