-- A kernel that was lost may not have vouched for its last events.
UPDATE vouched_chains SET begin_seq = ?2, begin_hash = ?3, seq = max(seq, ?2), hash = CASE WHEN seq < ?2 THEN ?3 ELSE hash END
WHERE kernel = ?1 AND begin_seq < ?2
