-- A page of the events of all kernels, as it is asked for by `QueryEvents` and given by `EventPage`. @ORDER@ is ASC or DESC.
-- Events may share a place, behind which the next page begins: a page has all or none of them, and may so be a little longer.
-- What is asked for stands in the conditions themselves, so that the plan is made for it: the index of places, from one end.
WITH page AS (
    SELECT writer, seq, hash, body, place FROM mgp_event
    WHERE place >= coalesce(greatest(
            mgp_millis($1::text::json ->> 'since') * 4096,
            CASE '@ORDER@' WHEN 'ASC' THEN ($1::text::json ->> 'behind')::bigint + 1 END
        ), -9223372036854775807)
        AND place < coalesce(least(
            mgp_millis($1::text::json ->> 'until') * 4096,
            CASE '@ORDER@' WHEN 'DESC' THEN ($1::text::json ->> 'behind')::bigint END
        ), 9223372036854775807)
        AND (json_array_length($1::text::json -> 'event_types') = 0
            OR event_type IN (SELECT json_array_elements_text($1::text::json -> 'event_types')))
        AND (($1::text::json ->> 'agent_id') IS NULL OR agent = ($1::text::json ->> 'agent_id')
            -- The agent `local` stands for all clients of the user.
            OR (($1::text::json ->> 'agent_id') = 'local' AND agent LIKE 'local/%'))
        AND (($1::text::json ->> 'server_id') IS NULL OR server = ($1::text::json ->> 'server_id'))
        AND (($1::text::json ->> 'result') IS NULL OR result = ($1::text::json ->> 'result'))
        AND (($1::text::json ->> 'trace_id') IS NULL OR trace = ($1::text::json ->> 'trace_id'))
    ORDER BY place @ORDER@ FETCH FIRST (least(greatest(coalesce(($1::text::json ->> 'limit')::int, 50), 1), 1000)) ROWS WITH TIES
)
SELECT json_build_object(
    'events', coalesce(json_agg(
        json_build_object('kernel', writer, 'seq', seq, 'hash', hash, 'event', body::json) ORDER BY place @ORDER@, writer, seq
    ), '[]'),
    'next_behind', CASE WHEN count(*) >= least(greatest(coalesce(($1::text::json ->> 'limit')::int, 50), 1), 1000) THEN
        CASE '@ORDER@' WHEN 'ASC' THEN max(place) ELSE min(place) END
    END
)::text FROM page
