-- Adds the amounts $2 to what was used of the limits $1, which give $3 back in a second, and returns the sums. Kernels that lock
-- rows in one order do not wait for each other in a circle.
INSERT INTO mgp_limit (id, used, returned)
SELECT id, sum(used), max(returned) FROM unnest($1::bigint[], $2::float8[], $3::float8[]) AS uses (id, used, returned)
GROUP BY id ORDER BY id
ON CONFLICT (id) DO UPDATE SET used_at = now(), returned = excluded.returned, used = excluded.used
    + greatest(mgp_limit.used - mgp_limit.returned * extract(epoch FROM now() - mgp_limit.used_at)::float8, 0)
RETURNING id, used
