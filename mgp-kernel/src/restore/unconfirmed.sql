-- Servers that registered themselves, where no present state confirms them: each waits until an operator has approved it again.
SELECT 'waits for approval: server ' || id FROM main.registered_servers
WHERE record ->> '$.approval' IS NOT 'pending'

-- Then:
UPDATE main.registered_servers
SET record = json_remove(json_set(record, '$.approval', 'pending'), '$.approval_id');
