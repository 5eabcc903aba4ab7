-- What operators took away by the events of the record behind the event `copied.seq`.
WITH taken AS (
    SELECT event_type, server, event ->> '$.details.key' AS key, event ->> '$.details.agent_id' AS agent,
        coalesce('.' || (event ->> '$.target.tool_name'), '') AS tool, event ->> '$.details.permission' AS permission,
        event ->> '$.details.until' AS until
    FROM present.audit_events WHERE seq > (SELECT seq FROM copied) AND result = 'SUCCESS'
        AND event ->> '$.actor.type' = 'operator'
)
SELECT 'taken back: key ' || key FROM taken
WHERE event_type = 'dev.cloto.mgp.key_revoked' AND key IN (SELECT id FROM main.api_keys)
UNION ALL
SELECT 'replaced: key ' || key || coalesce(', which ends at ' || until, '') FROM taken
WHERE event_type = 'dev.cloto.mgp.key_rotated' AND key IN (SELECT id FROM main.api_keys)
UNION ALL
SELECT 'taken back: access of ' || agent || ' to ' || server || tool FROM taken WHERE event_type = 'ACCESS_REVOKED'
UNION ALL
SELECT 'denied: access of ' || agent || ' to ' || server || tool FROM taken
WHERE event_type = 'ACCESS_GRANTED' AND permission = 'deny'
UNION ALL
SELECT 'denied: permission ' || permission || ' of ' || server || coalesce(' for ' || agent, '') FROM taken
WHERE event_type IN ('PERMISSION_REVOKED', 'PERMISSION_DENIED')

-- Then:
CREATE TEMP TABLE taken AS
SELECT event_type, server, event ->> '$.details.key' AS key, event ->> '$.details.agent_id' AS agent,
    coalesce(event ->> '$.target.tool_name', '') AS tool, event ->> '$.details.permission' AS permission,
    event ->> '$.actor.id' AS operator, millis,
    coalesce(CAST(unixepoch(event ->> '$.details.until', 'subsec') * 1000 AS INTEGER), millis) AS until
FROM present.audit_events WHERE seq > (SELECT seq FROM copied) AND result = 'SUCCESS'
    AND event ->> '$.actor.type' = 'operator';

DELETE FROM main.api_keys
WHERE id IN (SELECT key FROM taken WHERE event_type = 'dev.cloto.mgp.key_revoked');
UPDATE main.api_keys SET expires_at = min(coalesce(expires_at, ended.until), ended.until)
FROM (SELECT key, min(until) AS until FROM taken WHERE event_type = 'dev.cloto.mgp.key_rotated' GROUP BY key) AS ended
WHERE id = ended.key;

DELETE FROM main.access_entries WHERE permission = 'allow' AND (agent, server, tool) IN
    (SELECT agent, server, tool FROM taken WHERE event_type = 'ACCESS_REVOKED');
INSERT OR REPLACE INTO main.access_entries (agent, server, tool, permission, granted_by, granted_at)
SELECT agent, server, tool, 'deny', operator, millis FROM taken
WHERE event_type = 'ACCESS_GRANTED' AND permission = 'deny';

-- A decision for all agents stands in place of those for single ones.
DELETE FROM main.permission_grants WHERE (server, permission) IN
    (SELECT server, permission FROM taken
     WHERE event_type IN ('PERMISSION_REVOKED', 'PERMISSION_DENIED') AND agent IS NULL);
INSERT OR REPLACE INTO main.permission_grants (server, permission, agent, decision, approver, decided_at)
SELECT server, permission, coalesce(agent, ''), 'denied', operator, millis FROM taken
WHERE event_type IN ('PERMISSION_REVOKED', 'PERMISSION_DENIED');
