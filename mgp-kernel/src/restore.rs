//! The restoration of a state from a copy. The rights that were taken away since the copy was made stay taken away, and the
//! record is not set back where it goes on from that of the copy.
//!
//! All of the copy is prepared in a folder of its own, which is a valid state before its files take their places, each in
//! one step.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use mgp_discovery::Config;
use mgp_discovery::registry::SqliteRegistryStore;
use mgp_lifecycle::store::EffectStore;
use mgp_security::audit::{AuditLog, LogStore};
use mgp_security::{Clock, StoreError};
use mgp_store::Database;
use mgp_types::mgp::{
    Actor, AuditEvent, AuditPort as _, AuditTarget, EventType, Outcome, Timestamp, TraceId,
};
use mgp_types::{AgentGroups, Principal};
use rusqlite::Connection;
use serde::Serialize;

use crate::log_positions::{AuditLogEnds, LAST_END};
use crate::platform::set_mode;
use crate::policies::stored_decisions;
use crate::state_copy::{DECISIONS, EFFECTS, RECORD, REGISTRY, StateCopy, private_folder};
use crate::terminal::{TextForm, TextWriter, printable};

/// The outcome of a restoration.
#[derive(Debug, Serialize)]
pub(crate) struct Restored {
    made_at: Timestamp,
    /// The folder with the files in whose place those of the copy are; `None` if there were none.
    former: Option<PathBuf>,
    /// The rights that were taken back or denied since the copy was made, and stay so.
    carried: Vec<String>,
    /// The time from which on it is not known what was taken back or denied; `None` if all of it is.
    unknown_since: Option<Timestamp>,
}

/// Puts the copy in `folder` in the place of the state in `state`, in the name of the operator `by`.
///
/// # Errors
/// Fails if the copy is not whole or not intact, or a newer version made it; with [`StoreError::InUse`] if a kernel runs with
/// the state. The state is as it was then.
pub(crate) async fn restore(
    config: &Config,
    state: &Path,
    folder: &Path,
    by: &Principal,
) -> Result<Restored> {
    let copy = StateCopy::read(folder).with_context(|| folder.display().to_string())?;
    // SQLite follows no link in the path of a database.
    let state = &fs::canonicalize(state)?;
    let staged = private_folder(state, "restore-")?;
    let at = staged.path();
    copy.unpack(folder, at)?;
    let end = [copy.record];
    LogStore::open_read_only(&at.join(RECORD))?.verify(&end).context("the copy cannot be trusted")?;
    // It stays locked until its place is taken.
    let path = state.join(DECISIONS);
    let present = path.exists().then(|| Database::open(&path));
    if let Some(Err(StoreError::InUse)) = present {
        bail!(StoreError::InUse);
    }
    let record = state.join(RECORD);
    let going_on = record.exists().then(|| LogStore::open(&record).ok()).flatten();
    let going_on = going_on.filter(|record| record.verify(&end).is_ok());
    let is_going_on = going_on.is_some();
    let log = AuditLog::open(going_on.map_or_else(|| LogStore::open(&at.join(RECORD)), Ok)?)?;
    let decisions = prepare(config, at, &log).await?;
    let after = is_going_on.then_some(copy.record.seq);
    let (carried, is_known) = take_away(&decisions, state, at, after)?;
    drop(decisions);
    let (now, kind) = (Timestamp::now(), EventType::read("dev.cloto.mgp.state_restored"));
    let (actor, target) = (Actor::of(by), AuditTarget::new(None, None));
    let event = AuditEvent::new(now, TraceId::random(), kind, actor, target, Outcome::Success)
        .with_detail("made_at", &copy.made_at)
        .with_detail("record", &copy.record)
        .with_detail("carried", &carried);
    log.record(event).await?;
    let ends =
        if is_going_on { AuditLogEnds::open(config, state, &log) } else { AuditLogEnds::anew(config, at) };
    ends.note(log.head());
    drop(log);
    if !is_going_on {
        // Whatever lies beside the file is written into it when its last writer closes it.
        drop(Database::open(&at.join(RECORD))?);
    }
    drop(present);
    let keeps_effects = state.join(EFFECTS).exists() && EffectStore::open(&state.join(EFFECTS)).is_ok();
    let stays = |name: &str| match name {
        // These say who may decide, and what was accepted.
        "accepted.json" | "operators.json" => state.join(name).exists(),
        RECORD | "audit.forwarded" | "arguments.key" => is_going_on && state.join(name).exists(),
        // A key that is forgotten would have its effect once more.
        EFFECTS => keeps_effects,
        _ => false,
    };
    let former = state.join(format!("replaced-{}", now.to_string().replace(':', "-")));
    fs::create_dir(&former)?;
    set_mode(&former, 0o700)?;
    let names = copy.files.keys().map(String::as_str).chain([LAST_END]).filter(|name| !stays(name));
    put_in_place(at, state, &former, names)?;
    // It goes only if it is empty.
    let former = fs::remove_dir(&former).is_err().then_some(former);
    let unknown_since = (!is_known).then_some(copy.made_at);
    Ok(Restored { made_at: copy.made_at, former, carried, unknown_since })
}

/// Brings the databases in `at` up to date, and returns that of the decisions.
async fn prepare(config: &Config, at: &Path, log: &AuditLog) -> Result<Database> {
    let decisions = Database::open(&at.join(DECISIONS))?;
    let (policy, audit) = (config.default_policy(), Arc::new(log.clone()));
    let groups = AgentGroups::default();
    drop(stored_decisions(decisions.clone(), policy, audit, Clock::system(), &groups).await?);
    // An answer counts once, and may have been used since.
    decisions.connection().execute("DELETE FROM questions", [])?;
    drop(SqliteRegistryStore::open(&at.join(REGISTRY))?);
    drop(EffectStore::open(&at.join(EFFECTS))?);
    Ok(decisions)
}

/// Takes from the databases in `at` the rights that were taken away since the copy was made: by the present state or else by
/// its record, if that goes on behind the event `after`. Returns them, and whether these are all.
fn take_away(
    decisions: &Database,
    state: &Path,
    at: &Path,
    after: Option<u64>,
) -> Result<(Vec<String>, bool)> {
    let decisions = decisions.connection();
    let (mut carried, mut is_known) = match (carry(&decisions, &state.join(DECISIONS), DECIDED), after) {
        (Ok(carried), _) => (carried, true),
        (Err(_), Some(after)) => {
            decisions.execute_batch(&format!("CREATE TEMP TABLE copied AS SELECT {after} AS seq"))?;
            (carry(&decisions, &state.join(RECORD), RECORDED)?, true)
        }
        (Err(_), None) => (Vec::new(), false),
    };
    let registered = carry(&Connection::open(at.join(REGISTRY))?, &state.join(REGISTRY), REGISTERED);
    is_known &= registered.is_ok() || !state.join(REGISTRY).exists();
    carried.extend(registered.unwrap_or_default());
    Ok((carried, is_known))
}

/// Moves the files of these names from the folder `at` to `state`, and keeps those that were there in `former`.
fn put_in_place<'a>(
    at: &Path,
    state: &Path,
    former: &Path,
    names: impl Iterator<Item = &'a str>,
) -> io::Result<()> {
    for name in names.filter(|name| at.join(name).exists()) {
        let (place, kept) = (state.join(name), former.join(name));
        for folder in [&place, &kept].into_iter().filter_map(|path| path.parent()) {
            fs::create_dir_all(folder)?;
        }
        // The part of a database that lies beside it belongs to the former one.
        for beside in ["-wal", "-shm", "-journal"].map(|ending| format!("{name}{ending}")) {
            if state.join(&beside).exists() {
                fs::rename(state.join(&beside), former.join(&beside))?;
            }
        }
        if place.exists() {
            // At each moment one of the two is in the place.
            fs::hard_link(&place, &kept).or_else(|_| fs::copy(&place, &kept).map(drop))?;
        }
        fs::rename(at.join(name), &place)?;
    }
    // Windows opens no folder as a file.
    if cfg!(windows) { Ok(()) } else { fs::File::open(state)?.sync_all() }
}

impl TextForm for Restored {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        writeln!(out, "restored the state of {}", self.made_at)?;
        self.carried.iter().try_for_each(|carried| writeln!(out, "{}", printable(carried)))?;
        self.former.iter().try_for_each(|it| writeln!(out, "the former files are in {}", it.display()))
    }

    fn notes(&self) -> Vec<String> {
        let unknown = |since| {
            format!(
                "what was revoked or denied after {since} is not known here, and holds again: revoke it once more before \
                 the kernel starts"
            )
        };
        self.unknown_since.map(unknown).into_iter().collect()
    }
}

/// The statements that carry over what the decisions of the present state do not give, or deny.
const DECIDED: &str = include_str!("restore/decided.sql");
/// The statements that carry over which servers that registered themselves are no more.
const REGISTERED: &str = include_str!("restore/registered.sql");
/// The statements that carry over what operators took away by the present record, behind the event in the table `copied`.
const RECORDED: &str = include_str!("restore/recorded.sql");

/// Carries over into the database `copy` what the database at `present` says was taken away. Returns it as text for people.
///
/// # Errors
/// Fails if there is no present database, or it cannot be read.
fn carry(copy: &Connection, present: &Path, statements: &str) -> Result<Vec<String>> {
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
