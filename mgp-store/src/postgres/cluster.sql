-- What the kernels say of themselves, with their ages and how much their clocks are ahead; the orders; and who runs a server.
SELECT jsonb_build_object(
    'kernels', (
        SELECT coalesce(jsonb_agg((state::jsonb - 'now') || jsonb_build_object(
            'id', id, 'address', address,
            'up_ms', (extract(epoch FROM now() - started_at) * 1000)::bigint,
            'seen_ms', (extract(epoch FROM now() - seen_at) * 1000)::bigint,
            'clock_ms', (state::jsonb ->> 'now')::bigint - (extract(epoch FROM seen_at) * 1000)::bigint
        ) ORDER BY started_at, id), '[]') FROM mgp_replica
    ),
    'orders', (
        SELECT coalesce(jsonb_agg(jsonb_build_object(
            'order', name, 'entries', mgp_order.version, 'copied_at', coalesce(mgp_snapshot.version, 0)
        ) ORDER BY name), '[]') FROM mgp_order LEFT JOIN mgp_snapshot USING (name)
    ),
    'leases', (
        SELECT coalesce(jsonb_agg(jsonb_build_object(
            'server', name, 'owner', owner, 'epoch', epoch,
            'ends_ms', (extract(epoch FROM until - now()) * 1000)::bigint
        ) ORDER BY name), '[]') FROM mgp_lease
    )
)::text
