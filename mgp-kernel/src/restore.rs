//! The restoration of a state from a copy. The rights that were taken away since the copy was made stay taken away, and the
//! record is not set back where it goes on from that of the copy.
//!
//! All of the copy is prepared in a folder of its own, which is a valid state before its files take their places, each in
//! one step.

mod carried;

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mgp_discovery::Config;
use mgp_discovery::registry::SqliteRegistryStore;
use mgp_lifecycle::store::EffectStore;
use mgp_security::audit::{AuditLog, LogStore};
use mgp_security::sqlite::Database;
use mgp_security::{Clock, StoreError};
use mgp_types::Principal;
use mgp_types::mgp::{Actor, AuditEvent, AuditPort as _, AuditTarget, EventType, Outcome, Timestamp, TraceId};
use rusqlite::Connection;
use serde::Serialize;

use self::carried::{DECISION_TABLES, REGISTRATIONS, carry, carry_recorded};
use crate::audit_log_ends::{AuditLogEnds, LAST_END};
use crate::policies::StoredDecisions;
use crate::state_copy::{DECISIONS, EFFECTS, RECORD, REGISTRY, StateCopy, private_folder};
use crate::terminal::{Exit, Failure, Result, TextForm, TextWriter, printable, with_causes};

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
/// Fails if the copy is not whole or not intact, if a newer version made it, or if a kernel runs with the state. The state
/// is as it was then.
pub(crate) async fn restore(config: &Config, state: &Path, folder: &Path, by: &Principal) -> Result<Restored> {
    let copy = StateCopy::read(folder)?;
    // SQLite follows no link in the path of a database.
    let state = &fs::canonicalize(state).map_err(unusable(state))?;
    let staged = private_folder(state, "restore-").map_err(unusable(state))?;
    let at = staged.path();
    copy.unpack(folder, at).map_err(unusable(folder))?;
    let record = LogStore::open_read_only(&at.join(RECORD)).map_err(unusable(&at.join(RECORD)))?;
    record.verify(&[copy.record.head()]).map_err(|error| {
        Failure::new(Exit::Tool, format!("the copy in {} cannot be trusted: {error}", folder.display()))
    })?;
    drop(record);
    // It stays locked until its place is taken.
    let present = present(state)?;
    let clock = Clock::system();
    let going_on = going_on(state, &copy);
    let is_going_on = going_on.is_some();
    let log = going_on.map_or_else(|| open_record(at), Ok)?;
    let from = Preparation { log: &log, copy: &copy, has_decisions: present.is_some(), is_going_on };
    let (carried, is_known) = prepare(config, state, at, &from).await?;
    let target = AuditTarget::new(None, None);
    let kind = EventType::read("dev.cloto.mgp.state_restored");
    let event = AuditEvent::new(clock.now(), TraceId::random(), kind, Actor::of(by), target, Outcome::Success)
        .with_detail("made_at", &copy.made_at)
        .with_detail("record", &copy.record)
        .with_detail("carried", &carried);
    log.record(event).await?;
    if is_going_on {
        AuditLogEnds::open(config, state, &log).note(log.head());
    } else {
        AuditLogEnds::anew(config, at).note(log.head());
    }
    drop(log);
    if !is_going_on {
        // Whatever lies beside the file is written into it when its last writer closes it.
        drop(Database::open(&at.join(RECORD)).map_err(unusable(&at.join(RECORD)))?);
    }
    let keeps_effects = state.join(EFFECTS).exists() && EffectStore::open(&state.join(EFFECTS)).is_ok();
    drop(present);
    let stays = |name: &str| match name {
        // These say who may decide, and what was accepted.
        "accepted.json" | "operators.json" => state.join(name).exists(),
        RECORD | "audit.forwarded" | "arguments.key" => is_going_on && state.join(name).exists(),
        // A key that is forgotten would have its effect once more.
        EFFECTS => keeps_effects,
        _ => false,
    };
    let former = state.join(format!("replaced-{}", clock.now().to_string().replace(':', "-")));
    let names = copy.files.keys().map(String::as_str).chain([LAST_END]).filter(|name| !stays(name));
    let put = DirBuilder::new().mode(0o700).create(&former).and_then(|()| put_in_place(at, state, &former, names));
    put.map_err(unusable(state))?;
    // It goes only if it is empty.
    let former = fs::remove_dir(&former).is_err().then_some(former);
    let unknown_since = (!is_known).then_some(copy.made_at);
    Ok(Restored { made_at: copy.made_at, former, carried, unknown_since })
}

/// The state and the copy from which a new state is prepared.
struct Preparation<'a> {
    log: &'a AuditLog,
    copy: &'a StateCopy,
    /// True if the decisions of the present state can be opened.
    has_decisions: bool,
    /// True if the record is that of the present state.
    is_going_on: bool,
}

/// Brings the databases in `at` up to date, and takes from them the rights that were taken away since the copy was made.
/// Returns these, and whether that is all of them.
async fn prepare(
    config: &Config,
    state: &Path,
    at: &Path,
    from: &Preparation<'_>,
) -> Result<(Vec<String>, bool)> {
    let path = at.join(DECISIONS);
    let database = Database::open(&path).map_err(unusable(&path))?;
    let policy = config.default_policy();
    let opened = StoredDecisions::open(database.clone(), policy, Arc::new(from.log.clone()), Clock::system());
    drop(opened.await.map_err(unusable(&path))?);
    let of_present = from.has_decisions.then(|| {
        carry(&database.connection(), &state.join(DECISIONS).to_string_lossy(), &DECISION_TABLES)
    });
    let (mut carried, mut is_known) = match of_present {
        Some(Ok(carried)) => (carried, true),
        _ if from.is_going_on => {
            let record = from.log.reader();
            let carried = carry_recorded(&database.connection(), &record, from.copy.record.seq);
            (carried.map_err(unusable(&path))?, true)
        }
        _ => (Vec::new(), false),
    };
    // An answer counts once, and may have been used since.
    database.connection().execute("DELETE FROM questions", []).map_err(unusable(&path))?;
    if at.join(EFFECTS).exists() {
        drop(EffectStore::open(&at.join(EFFECTS)).map_err(unusable(&at.join(EFFECTS)))?);
    }
    let (path, present) = (at.join(REGISTRY), state.join(REGISTRY));
    drop(SqliteRegistryStore::open(&path).map_err(unusable(&path))?);
    if present.exists() {
        let registry = Connection::open(&path).map_err(unusable(&path))?;
        match carry(&registry, &present.to_string_lossy(), &REGISTRATIONS) {
            Ok(more) => carried.extend(more),
            Err(_) => is_known = false,
        }
    }
    Ok((carried, is_known))
}

/// Opens the decisions of the state in `state`; `None` if there are none that can be read.
fn present(state: &Path) -> Result<Option<Database>> {
    let path = state.join(DECISIONS);
    if !path.exists() {
        return Ok(None);
    }
    match Database::open(&path) {
        Ok(database) => Ok(Some(database)),
        Err(StoreError::InUse) => Err(in_use(state)),
        Err(_) => Ok(None),
    }
}

/// Opens the record of the state in `state`, if it is intact and goes on from that of the copy.
fn going_on(state: &Path, copy: &StateCopy) -> Option<AuditLog> {
    let path = state.join(RECORD);
    let store = path.exists().then(|| LogStore::open(&path).ok())??;
    store.verify(&[copy.record.head()]).is_ok().then(|| AuditLog::open(store).ok())?
}

fn open_record(at: &Path) -> Result<AuditLog> {
    let path = at.join(RECORD);
    LogStore::open(&path).and_then(AuditLog::open).map_err(unusable(&path))
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
            match fs::rename(state.join(&beside), former.join(&beside)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        if place.exists() {
            // At each moment one of the two is in the place.
            fs::hard_link(&place, &kept).or_else(|_| fs::copy(&place, &kept).map(drop))?;
        }
        fs::rename(at.join(name), &place)?;
    }
    File::open(state)?.sync_all()
}

/// Returns the failure of a restoration while somebody uses the state.
pub(crate) fn in_use(state: &Path) -> Failure {
    Failure::unreachable(format!("a kernel runs with the state in {}", state.display()))
        .hint("`mgp stop` stops it; restore the copy then")
}

/// Returns a function that makes the failure of a file that cannot be used.
fn unusable<E: std::error::Error>(path: &Path) -> impl FnOnce(E) -> Failure + use<E> {
    let path = path.to_owned();
    move |error| Failure::file(&path, with_causes(&error.to_string(), &error))
}

impl TextForm for Restored {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        writeln!(out, "restored the state of {}", self.made_at)?;
        self.carried.iter().try_for_each(|carried| writeln!(out, "{}", printable(carried)))?;
        let former = self.former.iter();
        former.into_iter().try_for_each(|former| writeln!(out, "the former files are in {}", former.display()))
    }

    fn notes(&self) -> Vec<String> {
        let unknown = self.unknown_since.map(|since| {
            format!(
                "what was revoked or denied after {since} is not known here, and holds again: revoke it once more before \
                 the kernel starts"
            )
        });
        unknown.into_iter().collect()
    }
}
