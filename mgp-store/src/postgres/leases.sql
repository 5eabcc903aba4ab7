-- Renews the leases of the kernel $1, and takes those of the servers $2 that are free, up to its part of them. Returns, by server,
-- the address of the kernel that has the lease (null for $1), its epoch, and the milliseconds left.
-- A lease lasts 7 seconds, and each kernel asks every second. An owner that gets no answer ends its servers 2 seconds before the
-- lease does, so a database may be silent for 5 seconds; calls are refused after 2 anyway. Another kernel has the lease of a lost
-- one after 8 seconds at most.
WITH wanted AS (
    SELECT server, owner, epoch, until
    FROM unnest($2::text[]) AS server LEFT JOIN mgp_lease ON name = server AND until > now()
), part AS (
    -- A lost kernel has no part any more when its leases end.
    SELECT ceil(count(*)::numeric / greatest(1, (
        SELECT count(*) FROM mgp_replica WHERE address <> '' AND seen_at > now() - interval '7 seconds'
    ))) - count(*) FILTER (WHERE owner = $1) AS missing FROM wanted
), renewed AS (
    UPDATE mgp_lease SET until = now() + interval '7 seconds' WHERE owner = $1 AND until > now() RETURNING name, until
), taken AS (
    INSERT INTO mgp_lease (name, owner, epoch, until)
    SELECT server, $1, 1, now() + interval '7 seconds' FROM wanted WHERE owner IS NULL
    ORDER BY server LIMIT (SELECT greatest(missing, 0)::bigint FROM part)
    ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, epoch = mgp_lease.epoch + 1, until = excluded.until
    WHERE mgp_lease.until <= now() RETURNING name, epoch
)
SELECT coalesce(jsonb_object_agg(wanted.server, jsonb_build_array(
    CASE WHEN wanted.owner <> $1 THEN address END,
    coalesce(taken.epoch, wanted.epoch),
    coalesce(extract(epoch FROM coalesce(renewed.until, wanted.until) - now()) * 1000, 7000)::bigint
)) FILTER (WHERE taken.name IS NOT NULL OR wanted.owner = $1 OR address <> ''), '{}')::text
FROM wanted
LEFT JOIN renewed ON renewed.name = wanted.server
LEFT JOIN taken ON taken.name = wanted.server
LEFT JOIN mgp_replica ON id = wanted.owner
