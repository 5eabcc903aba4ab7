//! The rights that were taken away since a copy was made, carried over into the copy.

use std::path::Path;

use anyhow::{Result, ensure};
use rusqlite::Connection;

/// The statements that carry over what the decisions of the present state do not give, or deny.
pub(super) const DECIDED: &str = include_str!("decided.sql");
/// The statements that carry over which servers that registered themselves are no more.
pub(super) const REGISTERED: &str = include_str!("registered.sql");
/// The statements that carry over what operators took away by the present record, behind the event in the table `copied`.
pub(super) const RECORDED: &str = include_str!("recorded.sql");

/// Carries over into the database `copy` what the database at `present` says was taken away. Returns it as text for people.
///
/// # Errors
/// Fails if there is no present database, or it cannot be read.
pub(super) fn carry(copy: &Connection, present: &Path, statements: &str) -> Result<Vec<String>> {
    ensure!(present.exists(), "{} is not there", present.display());
    let (listed, changes) = statements.split_once("-- Then:").unwrap_or_default();
    copy.execute("ATTACH DATABASE ?1 AS present", [present.to_string_lossy()])?;
    let carried = texts(copy, listed).and_then(|carried| copy.execute_batch(changes).map(|()| carried));
    copy.execute_batch("DETACH DATABASE present")?;
    Ok(carried?)
}

fn texts(copy: &Connection, query: &str) -> rusqlite::Result<Vec<String>> {
    let mut query = copy.prepare(query)?;
    query.query_map([], |row| row.get(0))?.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables as far as they are carried over.
    const TABLES: &str = "
        CREATE TABLE api_keys (id TEXT PRIMARY KEY, digest, owner, role, permissions, rate_limit, label, created_at,
            last_used, expires_at);
        CREATE TABLE access_entries (id INTEGER PRIMARY KEY, agent, server, tool, permission, granted_by, label,
            justification, granted_at, expires_at, UNIQUE (agent, server, tool));
        CREATE TABLE permission_grants (server, permission, agent, decision, scope, expires_at, approver, decided_at,
            PRIMARY KEY (server, permission, agent));
        INSERT INTO api_keys (id, owner) VALUES ('kept', 'a'), ('revoked', 'b');
        INSERT INTO access_entries (agent, server, tool, permission) VALUES
            ('a', 'kept', '', 'allow'), ('a', 'revoked', 't', 'allow'), ('a', 'denied', '', 'allow');
        INSERT INTO permission_grants (server, permission, agent, decision) VALUES
            ('s', 'kept', '', 'approved'), ('s', 'revoked', 'a', 'approved');";

    fn with_tables() -> Connection {
        let copy = Connection::open_in_memory().unwrap();
        copy.execute_batch(TABLES).unwrap();
        copy
    }

    fn assert_carried(copy: &Connection) {
        assert_eq!(texts(copy, "SELECT id FROM api_keys").unwrap(), ["kept"]);
        let access = "SELECT server || ' ' || permission FROM access_entries ORDER BY 1";
        assert_eq!(texts(copy, access).unwrap(), ["denied deny", "kept allow"]);
        let grants = "SELECT permission || ' ' || decision FROM permission_grants ORDER BY 1";
        assert_eq!(texts(copy, grants).unwrap(), ["kept approved", "revoked denied"]);
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
                 INSERT INTO api_keys (id, owner) VALUES ('newer', 'c');
                 DELETE FROM access_entries WHERE server = 'revoked';
                 UPDATE access_entries SET permission = 'deny' WHERE server = 'denied';
                 UPDATE access_entries SET expires_at = 7 WHERE server = 'kept';
                 UPDATE permission_grants SET decision = 'denied' WHERE permission = 'revoked';",
            )
            .unwrap();
        let copy = with_tables();
        let carried = carry(&copy, &path, DECIDED).unwrap();
        assert_carried(&copy);
        let end = texts(&copy, "SELECT 'until ' || expires_at FROM access_entries WHERE server = 'kept'");
        assert_eq!(end.unwrap(), ["until 7"], "the present terms count");
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
    fn a_server_that_is_registered_no_more_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("registry.db");
        let table = "CREATE TABLE registered_servers (id TEXT PRIMARY KEY, record TEXT);
            INSERT INTO registered_servers VALUES ('kept', 'old'), ('gone', 'old')";
        let copy = Connection::open_in_memory().unwrap();
        for database in [&Connection::open(&path).unwrap(), &copy] {
            database.execute_batch(table).unwrap();
        }
        let change =
            "DELETE FROM registered_servers WHERE id = 'gone'; UPDATE registered_servers SET record = 'new'";
        Connection::open(&path).unwrap().execute_batch(change).unwrap();
        assert_eq!(carry(&copy, &path, REGISTERED).unwrap(), ["taken back: server gone"]);
        assert_eq!(texts(&copy, "SELECT id || record FROM registered_servers").unwrap(), ["keptnew"]);
    }

    #[test]
    fn a_present_state_that_cannot_be_read_is_no_state_without_revocations() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mgp.db");
        assert!(carry(&with_tables(), &path, DECIDED).is_err());
        for text in [&b"x".repeat(8_192)[..], b""] {
            std::fs::write(&path, text).unwrap();
            assert!(carry(&with_tables(), &path, DECIDED).is_err());
        }
    }

    #[test]
    fn the_record_tells_what_was_taken_away_where_nothing_else_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.db");
        let record = Connection::open(&path).unwrap();
        record
            .execute_batch("CREATE TABLE audit_events (seq, millis, event_type, result, server, event)")
            .unwrap();
        let mut seq = 0;
        let mut add = |kind: &str, server: &str, tool: Option<&str>, actor: &str, details: &str| {
            seq += 1;
            let tool = tool.map_or_else(|| "null".to_owned(), |tool| format!("{tool:?}"));
            let event = format!(
                r#"{{"actor":{{"type":"{actor}","id":"ada"}},"target":{{"server_id":"{server}","tool_name":{tool}}},"details":{details}}}"#
            );
            let values = rusqlite::params![seq, kind, server, event];
            let add = "INSERT INTO audit_events VALUES (?1, 0, ?2, 'SUCCESS', ?3, ?4)";
            record.execute(add, values).unwrap();
        };
        add("dev.cloto.mgp.key_revoked", "", None, "operator", r#"{"key":"kept"}"#);
        add("dev.cloto.mgp.key_revoked", "", None, "operator", r#"{"key":"revoked"}"#);
        add("ACCESS_REVOKED", "revoked", Some("t"), "operator", r#"{"agent_id":"a"}"#);
        add("ACCESS_GRANTED", "denied", None, "operator", r#"{"agent_id":"a","permission":"deny"}"#);
        add("ACCESS_GRANTED", "new", None, "operator", r#"{"agent_id":"a","permission":"allow"}"#);
        add("PERMISSION_REVOKED", "s", None, "operator", r#"{"agent_id":"a","permission":"revoked"}"#);
        add("PERMISSION_DENIED", "s", None, "agent", r#"{"permission":"kept"}"#);
        let copy = with_tables();
        copy.execute_batch("CREATE TEMP TABLE copied AS SELECT 1 AS seq").unwrap();
        let carried = carry(&copy, &path, RECORDED).unwrap();
        assert_carried(&copy);
        assert_eq!(carried.len(), 4, "{carried:?}");
    }
}
