-- The end of the record of a kernel.
SELECT coalesce((
    SELECT json_build_object('seq', seq, 'hash', hash) FROM mgp_event
    WHERE writer = ($1::text::json ->> 'kernel') ORDER BY seq DESC LIMIT 1
)::text, 'null')
