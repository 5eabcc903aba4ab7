//! The record of calls, and the form in which it has their arguments.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mgp_discovery::config::model::{AuditArguments, AuditDurability};
use mgp_discovery::{AtomicFile, Config, FileReaders};
use mgp_security::Clock;
use mgp_security::audit::{
    ArgumentRecording, AuditLog, AuditLogSettings, DigestKey, Durability, LogStore, Retention,
};
use mgp_types::canonical::Digest;
use mgp_types::mgp::{Actor, AuditEvent, AuditPort, AuditTarget, EventType, Outcome, TraceId};
use mgp_types::{Error, Principal, Response, random_bytes};
use tokio::time::{MissedTickBehavior, interval};

use crate::StartError;
use crate::audit_log_ends::AuditLogEnds;
use crate::forwarded_positions::ForwardedPositions;

/// The record of what was done and decided, and the clock by which it is written.
pub(crate) struct AuditTrail {
    pub(crate) log: AuditLog,
    /// The ends that the record had.
    pub(crate) ends: AuditLogEnds,
    /// The position in the record up to which each server was told of events.
    pub(crate) forwarded: ForwardedPositions,
    /// The form in which the arguments of calls are recorded.
    pub(crate) arguments: ArgumentRecording,
    pub(crate) clock: Clock,
}

impl AuditTrail {
    /// Opens the record that the configuration names.
    pub(crate) fn open(config: &Config, state: &Path) -> Result<Self, StartError> {
        let log = open(config, state)?;
        let ends = AuditLogEnds::open(config, state, &log);
        let arguments = match config.audit.arguments {
            AuditArguments::Digest => ArgumentRecording::Digest(digest_key(state)?),
            AuditArguments::Redacted => ArgumentRecording::Redacted,
            _ => ArgumentRecording::Omitted,
        };
        let forwarded = ForwardedPositions::open(state);
        Ok(Self { log, ends, forwarded, arguments, clock: Clock::system() })
    }

    pub(crate) fn port(&self) -> Arc<dyn AuditPort> {
        Arc::new(self.log.clone())
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

    /// Returns an event that happens now, in no chain of requests and to no server in particular.
    pub(crate) fn event(&self, kind: EventType, actor: Actor, outcome: Outcome) -> AuditEvent {
        let target = AuditTarget::new(None, None);
        AuditEvent::new(self.clock.now(), TraceId::random(), kind, actor, target, outcome)
    }
}

/// Opens the record that the configuration names.
fn open(config: &Config, state: &Path) -> Result<AuditLog, StartError> {
    let path = state.join("audit.db");
    let store = LogStore::open(&path).map_err(|error| StartError::Kept { path: path.clone(), error })?;
    let durability = match config.audit.durability {
        AuditDurability::Sync => Durability::BeforeReply,
        _ => Durability::Async,
    };
    let open_calls = Some(state.join("audit.calls"));
    let settings = AuditLogSettings { open_calls, ..AuditLogSettings::default() };
    Ok(AuditLog::with_settings(store, settings)?.with_durability(durability))
}

/// Removes the parts of the record that the configuration does not keep, at once and every hour, for as long as it is
/// polled.
pub(crate) fn forget(config: &Config, log: AuditLog) -> impl Future<Output = ()> + use<> {
    let days = |days: u32| Retention::TimeBased(Duration::from_hours(24) * days);
    let by_age = config.audit.keep_days.map(days);
    let by_size = config.audit.keep_bytes.map(Retention::SizeBased);
    async move {
        let mut hours = interval(Duration::from_hours(1));
        hours.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while by_age.is_some() || by_size.is_some() {
            hours.tick().await;
            for rule in by_age.into_iter().chain(by_size) {
                match log.retain(rule).await {
                    Ok(0) => {}
                    Ok(events) => tracing::info!(events, "the record is kept no longer"),
                    Err(error) => tracing::error!(%error, "the record cannot be shortened"),
                }
            }
        }
    }
}

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
