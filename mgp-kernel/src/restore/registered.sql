-- Servers that registered themselves: one that is registered no more is taken back, and of others the present entry counts.
SELECT 'taken back: server ' || id FROM main.registered_servers
WHERE id NOT IN (SELECT id FROM present.registered_servers)

-- Then:
DELETE FROM main.registered_servers WHERE id NOT IN (SELECT id FROM present.registered_servers);
INSERT OR REPLACE INTO main.registered_servers (id, record)
SELECT id, record FROM present.registered_servers WHERE id IN (SELECT id FROM main.registered_servers);
