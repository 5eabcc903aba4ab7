//! Tests of what a restoration carries over from the present state.

use rusqlite::params;

use super::*;

/// Opens the decisions at `path` with the tables that they have in a kernel.
async fn decisions(path: &Path) -> Connection {
    let audit = Arc::new(AuditLog::open(LogStore::in_memory().unwrap()).unwrap());
    let (database, groups) = (Database::open(path).unwrap(), AgentGroups::default());
    let policy = Config::default().default_policy();
    drop(stored_decisions(database, policy, audit, Clock::system(), &groups).await.unwrap());
    Connection::open(path).unwrap()
}

/// The decisions of the copy and those of the present state, which are the same at first.
struct Both {
    folder: tempfile::TempDir,
    copy: Connection,
    present: Connection,
}

impl Both {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let copy = decisions(&folder.path().join("copy.db")).await;
        let present = decisions(&folder.path().join("mgp.db")).await;
        for connection in [&copy, &present] {
            connection.execute_batch(ROWS).unwrap();
        }
        Self { folder, copy, present }
    }

    fn carry(&self) -> Vec<String> {
        carry(&self.copy, &self.folder.path().join("mgp.db"), DECIDED).unwrap()
    }
}

const ROWS: &str = "
    INSERT INTO api_keys (id, digest, owner, role, permissions, label, created_at)
    VALUES ('kept', zeroblob(32), 'a', 'agent', '[]', '', 0), ('revoked', zeroblob(32), 'b', 'agent', '[]', '', 0);
    INSERT INTO access_entries (agent, server, tool, permission, granted_by, granted_at) VALUES
        ('a', 'kept', '', 'allow', 'o', 0), ('a', 'revoked', 't', 'allow', 'o', 0), ('a', 'denied', '', 'allow', 'o', 0);
    INSERT INTO permission_grants (server, permission, agent, decision, approver, decided_at) VALUES
        ('s', 'kept', '', 'approved', 'o', 0), ('s', 'revoked', 'a', 'approved', 'o', 0);";

fn assert_carried(copy: &Connection) {
    assert_eq!(texts(copy, "SELECT id FROM api_keys").unwrap(), ["kept"]);
    let access = "SELECT server || ' ' || permission FROM access_entries ORDER BY 1";
    assert_eq!(texts(copy, access).unwrap(), ["denied deny", "kept allow"]);
    let grants = "SELECT permission || ' ' || decision FROM permission_grants ORDER BY 1";
    assert_eq!(texts(copy, grants).unwrap(), ["kept approved", "revoked denied"]);
}

#[tokio::test]
async fn what_the_present_state_does_not_give_is_taken_and_what_it_denies_is_denied() {
    let both = Both::new().await;
    both.present
        .execute_batch(
            "DELETE FROM api_keys WHERE id = 'revoked';
             INSERT INTO api_keys (id, digest, owner, role, permissions, label, created_at)
             VALUES ('newer', zeroblob(32), 'c', 'agent', '[]', '', 0);
             DELETE FROM access_entries WHERE server = 'revoked';
             UPDATE access_entries SET permission = 'deny' WHERE server = 'denied';
             UPDATE access_entries SET expires_at = 7 WHERE server = 'kept';
             UPDATE permission_grants SET decision = 'denied' WHERE permission = 'revoked';",
        )
        .unwrap();
    let carried = both.carry();
    assert_carried(&both.copy);
    let end = texts(&both.copy, "SELECT 'until ' || expires_at FROM access_entries WHERE server = 'kept'");
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

#[tokio::test]
async fn each_column_of_what_both_give_is_that_of_the_present_state() {
    let both = Both::new().await;
    for (table, key) in [
        ("api_keys", &["id", "digest"][..]),
        ("access_entries", &["id", "agent", "server", "tool"]),
        ("permission_grants", &["server", "permission", "agent"]),
    ] {
        let columns = texts(&both.copy, &format!("SELECT name FROM pragma_table_info('{table}')")).unwrap();
        let columns: Vec<_> = columns.iter().map(String::as_str).filter(|name| !key.contains(name)).collect();
        for name in &columns {
            // A value that no column has otherwise, and that fits the types and the conditions.
            let value = match *name {
                "role" => "'operator'",
                "permission" | "decision" => *name,
                _ => "8",
            };
            both.present.execute_batch(&format!("UPDATE {table} SET {name} = {value}")).unwrap();
        }
        let rows = format!("SELECT json_array({}) FROM {table} ORDER BY 1", columns.join(", "));
        let now = texts(&both.present, &rows).unwrap();
        assert_ne!(texts(&both.copy, &rows).unwrap(), now);
        both.carry();
        assert_eq!(texts(&both.copy, &rows).unwrap(), now, "{table}");
    }
}

#[tokio::test]
async fn which_definitions_are_approved_follows_the_present_state() {
    let both = Both::new().await;
    let put = |connection: &Connection, tool: &str, approved: &str| {
        let put = "INSERT INTO definition_pins (server, kind, name, approved) VALUES ('s', 'tool', ?1, ?2)";
        connection.execute(put, params![tool, approved.as_bytes()]).unwrap();
    };
    put(&both.copy, "changed", "evil");
    put(&both.copy, "unknown", "evil");
    put(&both.present, "changed", "seen");
    put(&both.present, "newer", "seen");
    both.carry();
    let pins = "SELECT name || ' ' || CAST(approved AS TEXT) FROM definition_pins ORDER BY 1";
    assert_eq!(texts(&both.copy, pins).unwrap(), ["changed seen", "newer seen"]);
}

/// Registries in which two servers are approved.
const REGISTERED_ROWS: &str = r#"CREATE TABLE registered_servers (id TEXT PRIMARY KEY, record TEXT);
    INSERT INTO registered_servers VALUES
        ('kept', '{"approval":{"approved":{}},"approval_id":"x"}'), ('gone', '{"approval":"pending"}')"#;

#[test]
fn a_server_that_is_registered_no_more_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registry.db");
    let copy = Connection::open_in_memory().unwrap();
    for database in [&Connection::open(&path).unwrap(), &copy] {
        database.execute_batch(REGISTERED_ROWS).unwrap();
    }
    let change =
        "DELETE FROM registered_servers WHERE id = 'gone'; UPDATE registered_servers SET record = 'new'";
    Connection::open(&path).unwrap().execute_batch(change).unwrap();
    assert_eq!(carry(&copy, &path, REGISTERED).unwrap(), ["taken back: server gone"]);
    assert_eq!(texts(&copy, "SELECT id || record FROM registered_servers").unwrap(), ["keptnew"]);
}

#[test]
fn a_server_that_nothing_confirms_waits_for_approval() {
    let copy = Connection::open_in_memory().unwrap();
    copy.execute_batch(REGISTERED_ROWS).unwrap();
    assert_eq!(changed(&copy, UNCONFIRMED).unwrap(), ["waits for approval: server kept"]);
    let records = texts(&copy, "SELECT DISTINCT record FROM registered_servers").unwrap();
    assert_eq!(records, [r#"{"approval":"pending"}"#]);
}

#[tokio::test]
async fn a_present_state_that_cannot_be_read_is_no_state_without_revocations() {
    let Both { folder, copy, present } = Both::new().await;
    drop(present);
    assert!(carry(&copy, &folder.path().join("none.db"), DECIDED).is_err());
    let path = folder.path().join("broken.db");
    for text in [&b"x".repeat(8_192)[..], b""] {
        fs::write(&path, text).unwrap();
        assert!(carry(&copy, &path, DECIDED).is_err());
        assert_eq!(texts(&copy, "SELECT id FROM api_keys").unwrap().len(), 2);
    }
}

#[tokio::test]
async fn the_record_tells_what_was_taken_away_where_nothing_else_does() {
    let Both { folder, copy, .. } = Both::new().await;
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
        let add = "INSERT INTO audit_events VALUES (?1, 0, ?2, 'SUCCESS', ?3, ?4)";
        record.execute(add, params![seq, kind, server, event]).unwrap();
    };
    add("dev.cloto.mgp.key_revoked", "", None, "operator", r#"{"key":"kept"}"#);
    add("dev.cloto.mgp.key_revoked", "", None, "operator", r#"{"key":"revoked"}"#);
    let rotated = r#"{"key":"kept","owner":"a","until":"1970-01-01T00:00:07.000Z"}"#;
    add("dev.cloto.mgp.key_rotated", "", None, "operator", rotated);
    add("ACCESS_REVOKED", "revoked", Some("t"), "operator", r#"{"agent_id":"a"}"#);
    add("ACCESS_GRANTED", "denied", None, "operator", r#"{"agent_id":"a","permission":"deny"}"#);
    add("ACCESS_GRANTED", "new", None, "operator", r#"{"agent_id":"a","permission":"allow"}"#);
    add("PERMISSION_REVOKED", "s", None, "operator", r#"{"agent_id":"a","permission":"revoked"}"#);
    add("PERMISSION_DENIED", "s", None, "agent", r#"{"permission":"kept"}"#);
    copy.execute_batch("CREATE TEMP TABLE copied AS SELECT 1 AS seq").unwrap();
    let carried = carry(&copy, &path, RECORDED).unwrap();
    assert_carried(&copy);
    assert_eq!(texts(&copy, "SELECT 'until ' || expires_at FROM api_keys").unwrap(), ["until 7000"]);
    assert_eq!(carried.len(), 5, "{carried:?}");
}
