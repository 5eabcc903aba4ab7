INSERT INTO vouched_chains (kernel, begin_seq, begin_hash, seq, hash) VALUES (?1, ?2, ?3, ?2, ?3)
ON CONFLICT (kernel) DO UPDATE SET seq = excluded.seq, hash = excluded.hash WHERE excluded.seq > vouched_chains.seq
