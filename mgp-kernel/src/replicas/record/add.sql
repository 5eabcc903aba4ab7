-- Adds events of a kernel: all of them or, if one of their numbers is taken, none.
WITH asked AS (SELECT $1::text::json AS it), added AS (
    INSERT INTO mgp_event (writer, seq, body, hash)
    SELECT it ->> 'kernel', event.seq, event.body, event.hash
    FROM asked, json_to_recordset(it -> 'events') AS event (seq bigint, body text, hash text)
    RETURNING seq
)
SELECT count(*)::text FROM added
