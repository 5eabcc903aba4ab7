//! The record of calls, and the form in which it has their arguments.

pub mod positions;
pub(crate) mod push;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use mgp_discovery::config::model::{AuditArguments, AuditDurability};
use mgp_discovery::{AtomicFile, Config, FileReaders};
use mgp_security::Clock;
use mgp_security::audit::{
    ArgumentRecording, AuditLog, AuditLogSettings, DigestKey, Durability, LogStore, Retention,
};
use mgp_store::{Reserve, disk_room};
use mgp_types::canonical::Digest;
use mgp_types::mgp::{
    Actor, AuditEvent, AuditPort, AuditTarget, EventType, Outcome, ServerId, Timestamp, TraceId,
};
use mgp_types::{Error, Principal, Response, random_bytes};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::StartError;
use crate::record::positions::{AuditLogEnds, ForwardedPositions};
use crate::settings::running::RunningConfig;

/// The record of what was done and decided, and the clock by which it is written.
pub struct AuditTrail {
    /// The record.
    pub log: AuditLog,
    /// The ends that the record had.
    pub(crate) ends: AuditLogEnds,
    /// The position in the record up to which each server was told of events.
    pub(crate) forwarded: ForwardedPositions,
    /// The form in which the arguments of calls are recorded.
    pub(crate) arguments: ArgumentRecording,
    /// The progress of the push to the receiver; `None` where the record is not pushed.
    pub(crate) push: Option<PushProgress>,
    /// The clock by which events are dated.
    pub clock: Clock,
    /// The number of the last event that the database of all kernels has; of none if nothing waits to be copied there.
    pub(crate) copied: watch::Sender<u64>,
    /// The space on the disk for decisions that take a right away.
    pub(crate) reserve: Reserve,
}

mgp_types::partial_debug!(AuditTrail);

/// The progress of the push of the record, beside the position that [`ForwardedPositions`] keeps for [`RECEIVER`].
#[derive(Debug, Default)]
pub(crate) struct PushProgress {
    /// The time of the oldest event that waits, in milliseconds since 1970; 0 if none is known to wait.
    pub(crate) waiting_since: AtomicI64,
    /// True if the last attempt failed.
    pub(crate) is_failing: AtomicBool,
    pub(crate) failures: AtomicU64,
}

/// The events that wait to be pushed.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct PushLag {
    /// The number of events that the receiver does not have.
    pub events: u64,
    /// The age of the oldest of them, in seconds.
    pub seconds: u64,
    /// The number of attempts that failed since the kernel started.
    pub failures: u64,
}

impl AuditTrail {
    /// Opens the record that the configuration names.
    pub(crate) fn open(config: &Config, state: &Path) -> Result<Self, StartError> {
        // On a full disk nothing else could be opened.
        let reserve = Reserve::open(&state.join("reserve"));
        let log = open(config, state, reserve.clone())?;
        let ends = AuditLogEnds::open(config, state, &log);
        let arguments = match config.audit.arguments {
            AuditArguments::Digest => ArgumentRecording::Digest(digest_key(state)?),
            AuditArguments::Redacted => ArgumentRecording::Redacted,
            _ => ArgumentRecording::Omitted,
        };
        let forwarded = ForwardedPositions::open(state);
        let push = config.audit.push.is_some().then(PushProgress::default);
        let copied = watch::Sender::new(if config.store.url.is_some() { 0 } else { u64::MAX });
        Ok(Self { log, ends, forwarded, arguments, push, copied, clock: Clock::system(), reserve })
    }

    pub(crate) fn port(&self) -> Arc<dyn AuditPort> {
        Arc::new(self.log.clone())
    }

    /// Returns what waits to be pushed; `None` where the record is not pushed.
    pub(crate) fn push_lag(&self) -> Option<PushLag> {
        let progress = self.push.as_ref()?;
        let since = Timestamp::from_millis(progress.waiting_since.load(Relaxed)).unwrap_or(Timestamp::EPOCH);
        let events = self.log.head().seq.saturating_sub(self.pushed());
        let seconds = if since == Timestamp::EPOCH { 0 } else { self.clock.now().since(since).as_secs() };
        Some(PushLag { events, seconds, failures: progress.failures.load(Relaxed) })
    }

    /// Returns the number of the last event that was pushed.
    pub(crate) fn pushed(&self) -> u64 {
        self.forwarded.position(&ServerId::from(RECEIVER)).unwrap_or(0)
    }

    /// Waits until all kernels can read the events up to this one, but not for long.
    pub(crate) async fn until_copied(&self, seq: u64) {
        let mut copied = self.copied.subscribe();
        let _ = timeout(COPY_TIME, copied.wait_for(|copied| *copied >= seq)).await;
    }

    /// Returns the number of the last event that retention may remove. What waits to be copied to all kernels stays, and what
    /// waits to be pushed as well, but not for ever.
    fn removable(&self) -> u64 {
        let copied = *self.copied.borrow();
        let (Some(progress), Some(lag)) = (&self.push, self.push_lag()) else { return copied };
        let is_failing = progress.is_failing.load(Relaxed);
        if is_failing && Duration::from_secs(lag.seconds) > KEPT_FOR_PUSH {
            tracing::error!(
                events = lag.events,
                "events are removed, though they were not pushed for so long"
            );
            return copied;
        }
        if is_failing {
            tracing::warn!(events = lag.events, "events stay in the record until they are pushed");
        }
        self.pushed().min(copied)
    }

    /// Returns the answer to a request of `by` that is refused with this error: it is given once the refusal is recorded.
    pub(crate) fn refused(
        &self,
        by: &Principal,
        trace: TraceId,
        details: &[(&'static str, &str)],
        error: Error,
    ) -> impl Future<Output = Result<Response, Error>> + Send + use<> {
        let mut event = self.event(EventType::PermissionDenied, Actor::of(by), Outcome::Blocked);
        event.trace_id = trace;
        let event = details.iter().fold(event, |event, (name, value)| event.with_detail(*name, *value));
        let log = self.log.clone();
        async move {
            log.record(event).await?;
            Err(error)
        }
    }

    /// Returns the minute that the clock shows, from its beginning on.
    pub(crate) fn minute(&self) -> i64 {
        self.clock.now().as_millis() / 60_000
    }

    /// Returns an event that happens now, in no chain of requests and to no server in particular.
    pub(crate) fn event(&self, kind: EventType, actor: Actor, outcome: Outcome) -> AuditEvent {
        let target = AuditTarget::new(None, None);
        AuditEvent::new(self.clock.now(), TraceId::random(), kind, actor, target, outcome)
    }
}

/// Opens the record that the configuration names.
fn open(config: &Config, state: &Path, reserve: Reserve) -> Result<AuditLog, StartError> {
    let path = state.join("audit.db");
    let store = LogStore::open(&path).map_err(|error| StartError::Kept { path: path.clone(), error })?;
    let durability = match config.audit.durability {
        AuditDurability::Sync => Durability::BeforeReply,
        _ => Durability::Async,
    };
    let open_calls = Some(state.join("audit.calls"));
    let settings = AuditLogSettings { open_calls, reserve: Some(reserve), ..AuditLogSettings::default() };
    Ok(AuditLog::with_settings(store, settings)?.with_durability(durability))
}

/// Removes the parts of the record that the configuration does not keep, at once, every hour and when the configuration changes,
/// for as long as it is polled.
pub(crate) async fn forget(config: Arc<RunningConfig>, audit: Arc<AuditTrail>) {
    let days = |days: u32| Retention::TimeBased(Duration::from_hours(24) * days);
    let mut changes = config.changes.subscribe();
    loop {
        let kept = config.load_full();
        let by_age = kept.audit.keep_days.map(days);
        let by_size = kept.audit.keep_bytes.map(Retention::SizeBased);
        let through = audit.removable();
        for rule in by_age.into_iter().chain(by_size) {
            match audit.log.retain(rule, through).await {
                Ok(0) => {}
                Ok(events) => tracing::info!(events, "the record is kept no longer"),
                Err(error) => tracing::error!(%error, "the record cannot be shortened"),
            }
        }
        let _ = timeout(FORGET_EVERY, changes.changed()).await;
    }
}

/// The longest time between two looks at what is not kept.
pub(crate) const FORGET_EVERY: Duration = Duration::from_hours(1);

/// Logs that the disk of the state is nearly full, once until there is room again, for as long as it is polled. Has a log
/// that cannot be written look whether it can.
pub(crate) async fn watch_disk(state: PathBuf, log: AuditLog) {
    let mut nearly_full = false;
    loop {
        if log.fault().is_some() {
            // The log reports what cannot be written now.
            let _ = log.flush().await;
        }
        let folder = state.clone();
        let room = tokio::task::spawn_blocking(move || disk_room(&folder)).await;
        if let Ok(Some((free, all))) = room {
            let (used, state) = (100u64.saturating_sub(free.saturating_mul(100) / all), state.display());
            let was_nearly_full = nearly_full;
            nearly_full = is_nearly_full(used, was_nearly_full);
            if nearly_full && !was_nearly_full {
                tracing::warn!(used, free, %state, "the disk of the state is nearly full: free some space");
            }
        }
        sleep(BETWEEN_LOOKS).await;
    }
}

/// Returns whether a disk is nearly full at this use, in percent. One that was has room again only well below.
const fn is_nearly_full(used: u64, was: bool) -> bool {
    used >= if was { 85 } else { 90 }
}

const BETWEEN_LOOKS: Duration = Duration::from_secs(5);

/// Returns the key of the digests, made when it is first needed. Digests of one key can be compared, and nobody without
/// it finds out short arguments by trying.
fn digest_key(state: &Path) -> Result<DigestKey, StartError> {
    let path = state.join(KEY_FILE);
    let key = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let key = Digest::from(random_bytes());
            AtomicFile::put(&path, &format!("{key}\n"), FileReaders::Owner).map(|()| key)
        }
        text => text.and_then(|text| {
            let no_key = "it does not hold 64 hexadecimal digits";
            text.trim_end().parse().map_err(|_| io::Error::new(io::ErrorKind::InvalidData, no_key))
        }),
    };
    key.map(|key| DigestKey::new(*key.as_bytes())).map_err(|error| StartError::State { path, error })
}

const KEY_FILE: &str = "arguments.key";

/// The time to wait for events to be copied to all kernels.
const COPY_TIME: Duration = Duration::from_secs(1);

/// The id under which the position of the receiver to which the record is pushed is kept; no server has it.
pub(crate) const RECEIVER: &str = "mgp";

/// The age from which on an event that cannot be pushed is removed like others.
const KEPT_FOR_PUSH: Duration = Duration::from_hours(24 * 7);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_digests_is_made_once_and_is_for_nobody_else_to_read() {
        let state = tempfile::tempdir().unwrap();
        let file = state.path().join(KEY_FILE);
        digest_key(state.path()).unwrap();
        let first = fs::read_to_string(&file).unwrap();
        digest_key(state.path()).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), first);
        assert!(first.trim_end().parse::<Digest>().is_ok());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_disk_that_fills_up_is_told_once_and_again_after_there_was_room() {
        let mut is_full = false;
        let full = [50, 89, 90, 99, 86, 85, 84, 89, 90].map(|used| {
            is_full = is_nearly_full(used, is_full);
            is_full
        });
        assert_eq!(full, [false, false, true, true, true, true, false, false, true]);
    }

    #[test]
    fn a_file_that_holds_no_key_is_named_and_not_written_over() {
        let state = tempfile::tempdir().unwrap();
        for text in ["", "abc", &"z".repeat(64), &"0".repeat(66)] {
            fs::write(state.path().join(KEY_FILE), text).unwrap();
            let error = digest_key(state.path()).unwrap_err();
            assert!(error.to_string().contains(KEY_FILE), "{error}");
            assert_eq!(fs::read_to_string(state.path().join(KEY_FILE)).unwrap(), text);
        }
    }
}
