-- Lists the kernel $1 at the address $2, with what it says of itself, $3, and forgets what nobody has used for long. Returns
-- the ids and addresses of the other kernels that told something lately.
WITH forgotten AS (
    DELETE FROM mgp_replica WHERE seen_at < now() - interval '1 day' AND id <> $1
), unused AS (
    DELETE FROM mgp_limit WHERE used_at < now() - interval '32 days'
), told AS (
    INSERT INTO mgp_replica (id, address, state) VALUES ($1, $2, $3)
    ON CONFLICT (id) DO UPDATE SET address = excluded.address, seen_at = now(), state = excluded.state
)
SELECT unnest(ARRAY[id, address]) FROM mgp_replica WHERE seen_at >= now() - interval '10 seconds' AND id <> $1
