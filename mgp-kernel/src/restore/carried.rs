//! The rights that were taken away since a copy was made, carried over into the copy.

use mgp_security::StoreError;
use mgp_security::audit::{Filter, LogStore, Query};
use mgp_types::mgp::{ActorType, AuditEvent, EventType, Outcome, ServerId, ToolName};
use rusqlite::{Connection, params};

/// A table whose rows give rights or deny them.
pub(super) struct RightsTable {
    name: &'static str,
    /// The columns that say what a row is about.
    keys: &'static [&'static str],
    columns: &'static str,
    /// The condition on the rows that give a right; all others deny it.
    gives: &'static str,
    /// A row as text for people, in SQL.
    shown: &'static str,
}

/// The tables with the decisions of operators.
pub(super) const DECISION_TABLES: [RightsTable; 3] = [
    RightsTable {
        name: "api_keys",
        keys: &["id"],
        columns: "id, digest, owner, role, permissions, rate_limit, label, created_at, last_used, expires_at",
        gives: "digest IS NOT NULL",
        shown: "'key ' || id || ' of ' || owner",
    },
    RightsTable {
        name: "access_entries",
        keys: &["agent", "server", "tool"],
        columns: "agent, server, tool, permission, granted_by, label, justification, granted_at, expires_at",
        gives: "permission = 'allow'",
        shown: "'access of ' || agent || ' to ' || server || iif(tool = '', '', '.' || tool)",
    },
    RightsTable {
        name: "permission_grants",
        keys: &["server", "permission", "agent"],
        columns: "server, permission, agent, decision, scope, expires_at, approver, decided_at",
        gives: "decision = 'approved'",
        shown: "'permission ' || permission || ' of ' || server || iif(agent = '', '', ' for ' || agent)",
    },
];

/// The table with the servers that registered themselves.
pub(super) const REGISTRATIONS: [RightsTable; 1] = [RightsTable {
    name: "registered_servers",
    keys: &["id"],
    columns: "id, record",
    gives: "record IS NOT NULL",
    shown: "'server ' || id",
}];

/// Takes from the database `copy` each right that the database at `present` does not give, and puts each denial of it in.
/// A right that both give is given on the present terms. Returns what was taken and denied, as text for people.
///
/// # Errors
/// Fails if the present database cannot be read.
pub(super) fn carry(
    copy: &Connection,
    present: &str,
    tables: &[RightsTable],
) -> rusqlite::Result<Vec<String>> {
    copy.execute("ATTACH DATABASE ?1 AS present", [present])?;
    let carried: rusqlite::Result<Vec<_>> = tables.iter().map(|table| table.carry(copy)).collect();
    copy.execute_batch("DETACH DATABASE present")?;
    carried.map(|carried| carried.concat())
}

impl RightsTable {
    fn carry(&self, copy: &Connection) -> rusqlite::Result<Vec<String>> {
        let Self { name, keys, columns, gives, shown } = self;
        let same: Vec<_> = keys.iter().map(|key| format!("now.{key} = old.{key}")).collect();
        let same = same.join(" AND ");
        let lost = format!(
            "FROM main.{name} AS old WHERE old.{gives} AND NOT EXISTS
             (SELECT 1 FROM present.{name} AS now WHERE {same} AND now.{gives})"
        );
        let denied = format!(
            "FROM present.{name} AS now WHERE NOT now.{gives} AND NOT EXISTS
             (SELECT 1 FROM main.{name} AS old WHERE {same} AND NOT old.{gives})"
        );
        let said = format!("SELECT 'taken back: ' || {shown} {lost} UNION ALL SELECT 'denied: ' || {shown} {denied}");
        let mut said = copy.prepare(&said)?;
        let carried = said.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        copy.execute_batch(&format!(
            "DELETE {lost};
             INSERT OR REPLACE INTO main.{name} ({columns}) SELECT {columns} FROM present.{name} AS now
             WHERE NOT now.{gives} OR EXISTS (SELECT 1 FROM main.{name} AS old WHERE {same} AND old.{gives});"
        ))?;
        Ok(carried)
    }
}

/// Takes from the database `copy` the rights that operators took away by the events of the record behind the number
/// `after`. Returns them as text for people.
///
/// # Errors
/// Fails if the record or the copy cannot be used.
pub(super) fn carry_recorded(
    copy: &Connection,
    record: &LogStore,
    mut after: u64,
) -> Result<Vec<String>, StoreError> {
    let mut filter = Filter::default();
    filter.event_types = TAKING_AWAY.map(EventType::read).to_vec();
    filter.result = Some(Outcome::Success);
    let mut carried = Vec::new();
    loop {
        let events = record.query(&Query::after(filter.clone(), after, Query::MAX_LIMIT))?;
        let Some(last) = events.last() else { return Ok(carried) };
        after = last.seq;
        for entry in &events {
            let event = entry.to_event().map_err(|error| StoreError::Damaged(error.to_string()))?;
            carried.extend(repeat(copy, &event)?);
        }
    }
}

/// Does to the copy what an event says that an operator did. Returns what was taken away, if anything was.
fn repeat(copy: &Connection, event: &AuditEvent) -> rusqlite::Result<Option<String>> {
    let detail = |name: &str| event.details.text(name).unwrap_or_default();
    let (agent, permission, key) = (detail("agent_id"), detail("permission"), detail("key"));
    let server = event.target.server_id.as_ref().map_or("", ServerId::as_str);
    let tool = event.target.tool_name.as_ref().map_or("", ToolName::as_str);
    let (by, at) = (&event.actor.id, event.timestamp.as_millis());
    let access = || format!("access of {agent} to {server} {tool}").trim_end().to_owned();
    let (changed, shown) = match &event.event_type {
        _ if event.actor.kind != ActorType::Operator => return Ok(None),
        EventType::AccessRevoked => {
            let taken = "DELETE FROM access_entries WHERE agent = ?1 AND server = ?2 AND tool = ?3 AND permission = 'allow'";
            (copy.execute(taken, params![agent, server, tool])?, format!("taken back: {}", access()))
        }
        EventType::AccessGranted if permission == "deny" => {
            let denied = "INSERT OR REPLACE INTO access_entries (agent, server, tool, permission, granted_by, granted_at)
                VALUES (?1, ?2, ?3, 'deny', ?4, ?5)";
            (copy.execute(denied, params![agent, server, tool, by, at])?, format!("denied: {}", access()))
        }
        EventType::PermissionRevoked | EventType::PermissionDenied => {
            // A decision for all agents stands in place of those for single ones.
            let replaced = "DELETE FROM permission_grants WHERE server = ?1 AND permission = ?2 AND ?3 = ''";
            copy.execute(replaced, params![server, permission, agent])?;
            let denied =
                "INSERT OR REPLACE INTO permission_grants (server, permission, agent, decision, approver, decided_at)
                VALUES (?1, ?2, ?3, 'denied', ?4, ?5)";
            let denied = copy.execute(denied, params![server, permission, agent, by, at])?;
            (denied, format!("denied: permission {permission} of {server} {agent}").trim_end().to_owned())
        }
        kind if kind.as_str() == KEY_REVOKED => {
            (copy.execute("DELETE FROM api_keys WHERE id = ?1", [&key])?, format!("taken back: key {key}"))
        }
        _ => return Ok(None),
    };
    Ok((changed > 0).then_some(shown))
}

/// The type of the event that reports that an operator revoked an API key.
const KEY_REVOKED: &str = "dev.cloto.mgp.key_revoked";

/// The types of the events by which operators take rights away.
const TAKING_AWAY: [&str; 5] =
    ["ACCESS_GRANTED", "ACCESS_REVOKED", "PERMISSION_DENIED", "PERMISSION_REVOKED", KEY_REVOKED];

#[cfg(test)]
mod tests {
    use mgp_security::audit::AuditLog;
    use mgp_types::mgp::{Actor, AuditPort as _, AuditTarget, Timestamp, TraceId};

    use super::*;

    /// The tables as far as they are carried over.
    const TABLES: &str = "
        CREATE TABLE api_keys (id TEXT PRIMARY KEY, digest, owner, role, permissions, rate_limit, label, created_at,
            last_used, expires_at);
        CREATE TABLE access_entries (id INTEGER PRIMARY KEY, agent, server, tool, permission, granted_by, label,
            justification, granted_at, expires_at, UNIQUE (agent, server, tool));
        CREATE TABLE permission_grants (server, permission, agent, decision, scope, expires_at, approver, decided_at,
            PRIMARY KEY (server, permission, agent));
        INSERT INTO api_keys (id, digest, owner) VALUES ('kept', 1, 'a'), ('revoked', 2, 'b');
        INSERT INTO access_entries (agent, server, tool, permission) VALUES
            ('a', 'kept', '', 'allow'), ('a', 'revoked', 't', 'allow'), ('a', 'denied', '', 'allow');
        INSERT INTO permission_grants (server, permission, agent, decision) VALUES
            ('s', 'kept', '', 'approved'), ('s', 'revoked', 'a', 'approved');";

    fn copy() -> Connection {
        let copy = Connection::open_in_memory().unwrap();
        copy.execute_batch(TABLES).unwrap();
        copy
    }

    fn rows(copy: &Connection, query: &str) -> Vec<String> {
        let mut query = copy.prepare(query).unwrap();
        query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    fn assert_carried(copy: &Connection) {
        assert_eq!(rows(copy, "SELECT id FROM api_keys"), ["kept"]);
        let access = "SELECT server || ' ' || permission FROM access_entries ORDER BY 1";
        assert_eq!(rows(copy, access), ["denied deny", "kept allow"]);
        let grants = "SELECT permission || ' ' || decision FROM permission_grants ORDER BY 1";
        assert_eq!(rows(copy, grants), ["kept approved", "revoked denied"]);
    }

    #[test]
    fn what_the_present_state_does_not_give_is_taken_and_what_it_denies_is_denied() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mgp.db");
        let present = Connection::open(&path).unwrap();
        present.execute_batch(TABLES).unwrap();
        present
            .execute_batch(
                "DELETE FROM api_keys WHERE id = 'revoked';
                 INSERT INTO api_keys (id, digest, owner) VALUES ('newer', 3, 'c');
                 DELETE FROM access_entries WHERE server = 'revoked';
                 UPDATE access_entries SET permission = 'deny' WHERE server = 'denied';
                 UPDATE access_entries SET expires_at = 7 WHERE server = 'kept';
                 UPDATE permission_grants SET decision = 'denied' WHERE permission = 'revoked';",
            )
            .unwrap();
        let copy = copy();
        let carried = carry(&copy, path.to_str().unwrap(), &DECISION_TABLES).unwrap();
        assert_carried(&copy);
        assert_eq!(rows(&copy, "SELECT 'until ' || expires_at FROM access_entries WHERE server = 'kept'"), ["until 7"]);
        let told = [
            "taken back: key revoked of b",
            "taken back: access of a to revoked.t",
            "taken back: access of a to denied",
            "denied: access of a to denied",
            "taken back: permission revoked of s for a",
            "denied: permission revoked of s for a",
        ];
        assert_eq!(carried.len(), told.len(), "{carried:?}");
        assert!(told.iter().all(|line| carried.iter().any(|other| other == line)), "{carried:?}");
    }

    #[test]
    fn a_present_state_that_cannot_be_read_is_no_state_without_revocations() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mgp.db");
        for text in [&b"x".repeat(8_192)[..], b""] {
            std::fs::write(&path, text).unwrap();
            assert!(carry(&copy(), path.to_str().unwrap(), &DECISION_TABLES).is_err());
        }
    }

    #[tokio::test]
    async fn the_record_tells_what_was_taken_away_where_nothing_else_does() {
        let log = AuditLog::open(LogStore::in_memory().unwrap()).unwrap();
        let event = |kind: &str, server: &str, tool: Option<&str>| {
            let target = AuditTarget::new(Some(server.into()), tool.map(Into::into));
            let actor = Actor::new(ActorType::Operator, "ada");
            let (kind, trace) = (EventType::read(kind), TraceId::from_random([7; 16]));
            AuditEvent::new(Timestamp::EPOCH, trace, kind, actor, target, Outcome::Success)
        };
        log.record(event(KEY_REVOKED, "", None).with_detail("key", "kept")).await.unwrap();
        for event in [
            event(KEY_REVOKED, "", None).with_detail("key", "revoked"),
            event("ACCESS_REVOKED", "revoked", Some("t")).with_detail("agent_id", "a"),
            event("ACCESS_GRANTED", "denied", None).with_detail("agent_id", "a").with_detail("permission", "deny"),
            event("ACCESS_GRANTED", "new", None).with_detail("agent_id", "a").with_detail("permission", "allow"),
            event("PERMISSION_REVOKED", "s", None).with_detail("agent_id", "a").with_detail("permission", "revoked"),
        ] {
            log.record(event).await.unwrap();
        }
        let copy = copy();
        let carried = carry_recorded(&copy, &log.reader(), 1).unwrap();
        assert_carried(&copy);
        assert_eq!(carried.len(), 4, "{carried:?}");
    }
}
