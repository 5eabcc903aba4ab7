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
use mgp_kernel_core::platform::set_mode;
use mgp_kernel_core::policies::stored_decisions;
use mgp_kernel_core::record::positions::{AuditLogEnds, LAST_END};
use mgp_kernel_core::state::copy::{DECISIONS, EFFECTS, RECORD, REGISTRY, StateCopy, private_folder};
use mgp_kernel_core::terminal::{TextForm, TextWriter, printable};
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
    // SQLite follows no link in the path of a database.
    let state = &fs::canonicalize(state)?;
    let staged = private_folder(state, "restore-")?;
    let at = staged.path();
    let copy = StateCopy::unpack(folder, at).with_context(|| folder.display().to_string())?;
    let end = [copy.record];
    drop(LogStore::new(rows_of_copy(at, RECORD)?)?);
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

/// Puts a database of our own in the place of the one called `name` in `at`, which takes only rows from it: whoever could
/// write the copy could have it carry out statements later.
fn rows_of_copy(at: &Path, name: &str) -> Result<Database> {
    let (path, copied) = (at.join(name), at.join(format!("{name}.copied")));
    if !path.exists() {
        return Ok(Database::open(&path)?);
    }
    fs::rename(&path, &copied)?;
    Ok(Database::with_rows_of(&copied, &path)?)
}

/// Brings the databases in `at` up to date, and returns that of the decisions.
async fn prepare(config: &Config, at: &Path, log: &AuditLog) -> Result<Database> {
    let decisions = rows_of_copy(at, DECISIONS)?;
    let (policy, audit) = (config.default_policy(), Arc::new(log.clone()));
    let groups = AgentGroups::default();
    drop(stored_decisions(decisions.clone(), policy, audit, Clock::system(), &groups).await?);
    // An answer counts once, and may have been used since.
    decisions.connection().execute("DELETE FROM questions", [])?;
    drop(SqliteRegistryStore::of(rows_of_copy(at, REGISTRY)?)?);
    drop(EffectStore::of(rows_of_copy(at, EFFECTS)?)?);
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
    let registry = Connection::open(at.join(REGISTRY))?;
    let registered = carry(&registry, &state.join(REGISTRY), REGISTERED);
    is_known &= registered.is_ok() || !state.join(REGISTRY).exists();
    carried.extend(registered.or_else(|_| changed(&registry, UNCONFIRMED))?);
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
/// The statements that have servers wait for approval which no present state confirms.
const UNCONFIRMED: &str = include_str!("restore/unconfirmed.sql");
/// The statements that carry over what operators took away by the present record, behind the event in the table `copied`.
const RECORDED: &str = include_str!("restore/recorded.sql");

/// Carries over into the database `copy` what the database at `present` says was taken away. Returns it as text for people.
///
/// # Errors
/// Fails if there is no present database, or it cannot be read.
fn carry(copy: &Connection, present: &Path, statements: &str) -> Result<Vec<String>> {
    ensure!(present.exists(), "{} is not there", present.display());
    copy.execute("ATTACH DATABASE ?1 AS present", [present.to_string_lossy()])?;
    let carried = changed(copy, statements);
    copy.execute_batch("DETACH DATABASE present")?;
    Ok(carried?)
}

/// Carries out the statements behind `-- Then:` as a whole, and returns what the query before them found.
fn changed(copy: &Connection, statements: &str) -> rusqlite::Result<Vec<String>> {
    let (listed, changes) = statements.split_once("-- Then:").unwrap_or_default();
    let found = texts(copy, listed)?;
    let transaction = copy.unchecked_transaction()?;
    transaction.execute_batch(changes)?;
    transaction.commit()?;
    Ok(found)
}

fn texts(copy: &Connection, query: &str) -> rusqlite::Result<Vec<String>> {
    let mut query = copy.prepare(query)?;
    query.query_map([], |row| row.get(0))?.collect()
}

#[cfg(test)]
mod tests;
