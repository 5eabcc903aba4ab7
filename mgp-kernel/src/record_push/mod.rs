//! The push of the record to a receiver: in order, each event at least once, and never in the way of calls.
//!
//! Batches are read from the record behind the last event that the receiver took, whose number is kept in the state. The
//! push goes on from there, whatever became of the kernel or the receiver.

mod http;
mod syslog;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use mgp_discovery::Config;
use mgp_discovery::config::ProcessEnvironment;
use mgp_discovery::config::model::AuditPush;
use mgp_security::audit::LogEntry;
use mgp_types::mgp::ServerId;
use tokio::time::{sleep, timeout};

use self::http::HttpReceiver;
use self::syslog::SyslogReceiver;
use crate::record::{AuditTrail, PushProgress, RECEIVER};

/// The receiver of the record.
enum PushReceiver {
    Syslog(SyslogReceiver),
    Http(Box<HttpReceiver>),
}

impl PushReceiver {
    fn of(settings: &AuditPush) -> Result<Self, String> {
        let (url, headers, secret) =
            settings.expanded(&ProcessEnvironment).map_err(|fault| fault.to_string())?;
        let ca = settings
            .ca
            .as_ref()
            .map(|path| fs::read(path).map_err(|error| format!("`audit.push.ca`, {path}: {error}")));
        let ca = ca.transpose()?;
        if let Some(place) = url.expose().strip_prefix("syslog+tls://") {
            return SyslogReceiver::new(place, ca.as_deref()).map(Self::Syslog);
        }
        let receiver = HttpReceiver::new(&url, &headers, secret, ca.as_deref())?;
        Ok(Self::Http(Box::new(receiver)))
    }

    /// Sends a batch, and waits until the receiver has taken it.
    async fn take(&self, batch: &[LogEntry]) -> Result<(), String> {
        let taken = async {
            match self {
                Self::Syslog(receiver) => receiver.take(batch).await,
                Self::Http(receiver) => receiver.take(batch).await,
            }
        };
        timeout(TAKES, taken).await.unwrap_or_else(|_| Err("the receiver takes too long".to_owned()))
    }
}

/// Pushes the record as the configuration says, for as long as it is polled.
pub(crate) fn push(config: &Config, audit: Arc<AuditTrail>) -> impl Future<Output = ()> + use<> {
    let settings = config.audit.push.clone();
    async move {
        let (Some(settings), Some(progress)) = (settings, &audit.push) else { return };
        let receiver = loop {
            match PushReceiver::of(&settings) {
                Ok(receiver) => break receiver,
                Err(error) => fail(progress, &error, LONGEST_PAUSE).await,
            }
        };
        push_to(&receiver, &audit, progress).await;
    }
}

async fn push_to(receiver: &PushReceiver, audit: &AuditTrail, progress: &PushProgress) {
    let id = ServerId::from(RECEIVER);
    let begin = match audit.forwarded.position(&id) {
        // The record of that position may be another one.
        Some(_) => audit.forwarded.begin(&id, &audit.log).await,
        None => 0,
    };
    let mut events = audit.log.subscribe(begin);
    let mut after = begin;
    loop {
        let batch = match events.next().await {
            Ok(Some(batch)) => batch,
            Ok(None) => return,
            Err(error) => {
                fail(progress, &error.to_string(), LONGEST_PAUSE).await;
                continue;
            }
        };
        let (Some(first), Some(last)) = (batch.first(), batch.last()) else { continue };
        if first.seq > after + 1 {
            let (missing, before) = (first.seq - after - 1, first.seq);
            tracing::error!(
                missing,
                before,
                "events were removed before the receiver of the record took them"
            );
        }
        progress.waiting_since.store(first.facets.millis, Relaxed);
        let mut pause = FIRST_PAUSE;
        while let Err(error) = receiver.take(&batch).await {
            fail(progress, &error, pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        after = last.seq;
        audit.forwarded.note(&id, last.head());
        progress.waiting_since.store(0, Relaxed);
        if progress.is_failing.swap(false, Relaxed) {
            tracing::warn!("the record is pushed again");
        }
        // More events come meanwhile, and go together.
        sleep(PAUSE).await;
    }
}

/// Notes an attempt that failed, and waits until the next one.
async fn fail(progress: &PushProgress, error: &str, pause: Duration) {
    progress.failures.fetch_add(1, Relaxed);
    progress.is_failing.store(true, Relaxed);
    tracing::warn!(error, again_in = ?pause, "the record is not pushed; it is tried again");
    sleep(pause).await;
}

/// The longest time that a receiver has for a batch.
const TAKES: Duration = Duration::from_secs(30);
/// The time between two batches.
const PAUSE: Duration = Duration::from_millis(200);
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
