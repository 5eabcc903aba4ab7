-- Adds events to the record of the kernel $1: their numbers $2, their JSON $3 and their links $4.
INSERT INTO mgp_event (writer, seq, body, hash)
SELECT $1::text, seq, body, encode(link, 'hex')
FROM unnest($2::bigint[], $3::text[], $4::bytea[]) AS events (seq, body, link)
