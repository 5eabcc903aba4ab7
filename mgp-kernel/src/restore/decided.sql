-- Keys, access and permissions: a right that the present state does not give is taken back, one that it denies is denied,
-- and one that both give is given on the present terms.
SELECT 'taken back: key ' || id || ' of ' || owner FROM main.api_keys AS old
WHERE id NOT IN (SELECT id FROM present.api_keys)
UNION ALL
SELECT 'taken back: access of ' || agent || ' to ' || server || iif(tool = '', '', '.' || tool)
FROM main.access_entries AS old WHERE permission = 'allow' AND (agent, server, tool) NOT IN
    (SELECT agent, server, tool FROM present.access_entries WHERE permission = 'allow')
UNION ALL
SELECT 'denied: access of ' || agent || ' to ' || server || iif(tool = '', '', '.' || tool)
FROM present.access_entries AS now WHERE permission = 'deny' AND (agent, server, tool) NOT IN
    (SELECT agent, server, tool FROM main.access_entries WHERE permission = 'deny')
UNION ALL
SELECT 'taken back: permission ' || permission || ' of ' || server || iif(agent = '', '', ' for ' || agent)
FROM main.permission_grants AS old WHERE decision = 'approved' AND (server, permission, agent) NOT IN
    (SELECT server, permission, agent FROM present.permission_grants WHERE decision = 'approved')
UNION ALL
SELECT 'denied: permission ' || permission || ' of ' || server || iif(agent = '', '', ' for ' || agent)
FROM present.permission_grants AS now WHERE decision = 'denied' AND (server, permission, agent) NOT IN
    (SELECT server, permission, agent FROM main.permission_grants WHERE decision = 'denied')

-- Then:
DELETE FROM main.api_keys WHERE id NOT IN (SELECT id FROM present.api_keys);
INSERT OR REPLACE INTO main.api_keys
SELECT * FROM present.api_keys WHERE id IN (SELECT id FROM main.api_keys);

DELETE FROM main.access_entries WHERE permission = 'allow' AND (agent, server, tool) NOT IN
    (SELECT agent, server, tool FROM present.access_entries WHERE permission = 'allow');
-- The numbers of the rows are those of each database.
INSERT OR REPLACE INTO main.access_entries
    (agent, server, tool, permission, granted_by, label, justification, granted_at, expires_at)
SELECT agent, server, tool, permission, granted_by, label, justification, granted_at, expires_at
FROM present.access_entries WHERE permission = 'deny' OR (agent, server, tool) IN
    (SELECT agent, server, tool FROM main.access_entries WHERE permission = 'allow');

DELETE FROM main.permission_grants WHERE decision = 'approved' AND (server, permission, agent) NOT IN
    (SELECT server, permission, agent FROM present.permission_grants WHERE decision = 'approved');
INSERT OR REPLACE INTO main.permission_grants
SELECT * FROM present.permission_grants WHERE decision = 'denied' OR (server, permission, agent) IN
    (SELECT server, permission, agent FROM main.permission_grants WHERE decision = 'approved');

-- Which definitions are approved follows the present state alone: an approval of the copy may be of what was changed since.
DELETE FROM main.definition_pins;
INSERT INTO main.definition_pins SELECT * FROM present.definition_pins;
DELETE FROM main.definition_remarks;
INSERT INTO main.definition_remarks SELECT * FROM present.definition_remarks;
DELETE FROM main.definition_entries;
INSERT INTO main.definition_entries SELECT * FROM present.definition_entries;
