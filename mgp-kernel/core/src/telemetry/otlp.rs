//! The way to a collector, for spans and log lines alike: bounded queues, and OTLP over HTTP, as JSON.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use http::HeaderMap;
use mgp_discovery::config::ProcessEnvironment;
use mgp_discovery::config::model::TelemetrySettings;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::StartError;
use crate::telemetry::json_receiver::JsonReceiver;

/// The queue of the spans of this process, once there is a collector.
pub(super) static SPANS: OnceLock<ExportQueue> = OnceLock::new();
/// The queue of the log lines of this process, once there is a collector for them.
pub(super) static LINES: OnceLock<ExportQueue> = OnceLock::new();

/// A bounded queue of items to the collector. What finds no room is dropped, and counted.
pub(super) struct ExportQueue {
    jobs: mpsc::Sender<ExportJob>,
    dropped: AtomicU64,
}

pub(super) enum ExportJob {
    /// Writes an item in the form of OTLP.
    Item(Box<dyn FnOnce() -> Value + Send>),
    /// Tells when all items before were sent.
    Flush(oneshot::Sender<()>),
}

impl ExportQueue {
    /// Returns a queue, and the end at which its items are taken.
    pub(super) fn new() -> (Self, mpsc::Receiver<ExportJob>) {
        let (jobs, taken) = mpsc::channel(MAX_QUEUED);
        (Self { jobs, dropped: AtomicU64::default() }, taken)
    }

    pub(super) fn send(&self, item: impl FnOnce() -> Value + Send + 'static) {
        if self.jobs.try_send(ExportJob::Item(Box::new(item))).is_err() {
            self.dropped.fetch_add(1, Relaxed);
        }
    }

    /// Returns the number of items that were not sent.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// Waits until all items were sent, but not for long.
    pub(super) async fn flush(&self) {
        let flushed = async {
            let (done, finished) = oneshot::channel();
            self.jobs.send(ExportJob::Flush(done)).await.is_ok() && finished.await.is_ok()
        };
        if !timeout(TIMEOUT, flushed).await.unwrap_or(false) {
            tracing::warn!("the last of what goes to the collector was not sent");
        }
    }

    /// Returns the next item that is taken, if it waits already.
    #[cfg(test)]
    pub(super) fn next(taken: &mut mpsc::Receiver<ExportJob>) -> Option<Value> {
        match taken.try_recv() {
            Ok(ExportJob::Item(item)) => Some(item()),
            _ => None,
        }
    }
}

/// Returns spans as a request of OTLP.
pub(super) fn spans(items: &[Value]) -> String {
    let scope = json!({"scope": {"name": "mgp"}, "spans": items});
    json!({"resourceSpans": [{"resource": resource(), "scopeSpans": [scope]}]}).to_string()
}

/// Returns log records as a request of OTLP, in the scope of this name.
pub(crate) fn logs(scope: &str, records: &[Value]) -> String {
    let scope = json!({"scope": {"name": scope}, "logRecords": records});
    json!({"resourceLogs": [{"resource": resource(), "scopeLogs": [scope]}]}).to_string()
}

/// Returns the resource of OTLP that stands for the kernel.
fn resource() -> Value {
    let version = attribute("service.version", env!("CARGO_PKG_VERSION"));
    json!({"attributes": [attribute("service.name", "mgp"), version]})
}

/// Returns an attribute of OTLP whose value is text.
pub(crate) fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// Returns a log record of OTLP, of this time since 1970 in nanoseconds, and with the number and the name of its severity.
pub(crate) fn log_record(nanos: &str, (number, name): (u8, &str), body: &str, attributes: &[Value]) -> Value {
    json!({
        "timeUnixNano": nanos,
        "observedTimeUnixNano": nanos,
        "severityNumber": number,
        "severityText": name,
        "body": {"stringValue": body},
        "attributes": attributes,
    })
}

/// The collector of what one queue holds.
pub(super) struct Collector {
    to: JsonReceiver,
    queue: &'static OnceLock<ExportQueue>,
    /// The function that writes items as a request.
    body: fn(&[Value]) -> String,
}

impl Collector {
    /// Returns the collector that the settings name, for what `queue` holds and paths that end with `signal`. Does not check
    /// that it can be reached.
    ///
    /// # Errors
    /// Fails if the settings of the collector cannot be used.
    pub(super) fn of(
        settings: &TelemetrySettings,
        signal: &str,
        queue: &'static OnceLock<ExportQueue>,
        body: fn(&[Value]) -> String,
    ) -> Result<Option<Self>, StartError> {
        let Some(url) = &settings.otlp else { return Ok(None) };
        Handle::try_current().map_err(|_| wrong("the collector is reached by a tokio runtime only"))?;
        let headers = settings.expanded_otlp_headers(&ProcessEnvironment).map_err(wrong)?;
        let url = endpoint(url, signal).ok_or_else(|| wrong(NO_PATH))?;
        let to = JsonReceiver::new(&url, &headers, None).map_err(wrong)?;
        Ok(Some(Self { to, queue, body }))
    }

    /// Has all items of this process sent from now on, by the task that is returned. It needs a runtime.
    pub(super) fn open(self) -> JoinHandle<()> {
        let (queue, taken) = ExportQueue::new();
        // The first collector stays; a second one gets nothing.
        let queue = self.queue.get_or_init(|| queue);
        tokio::spawn(self.run(queue, taken))
    }

    async fn run(self, queue: &'static ExportQueue, mut taken: mpsc::Receiver<ExportJob>) {
        let mut jobs = Vec::new();
        while taken.recv_many(&mut jobs, MAX_BATCH).await > 0 {
            let (mut items, mut flushes) = (Vec::new(), Vec::new());
            for job in jobs.drain(..) {
                match job {
                    ExportJob::Item(item) => items.push(item()),
                    ExportJob::Flush(done) => flushes.push(done),
                }
            }
            let number = items.len() as u64;
            if number > 0
                && let Err(error) = self.to.post((self.body)(&items), HeaderMap::new()).await
            {
                queue.dropped.fetch_add(number, Relaxed);
                tracing::warn!(error, number, "the collector did not take what was sent");
            }
            for done in flushes {
                // Whoever waited may have given up.
                let _ = done.send(());
            }
            // More items come meanwhile, and go together.
            sleep(PAUSE).await;
        }
    }
}

fn wrong(what: impl fmt::Display) -> StartError {
    StartError::Config(format!("`telemetry.otlp`: {what}"))
}

/// Returns the address of the collector for a kind of items. It may be given with the path of traces, beside which the others
/// are, or without any; `None` if it is given with another one, where only traces can go.
fn endpoint(collector: &str, signal: &str) -> Option<String> {
    let path = collector.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    if path.is_none_or(|(_, path)| path.is_empty()) {
        return Some(format!("{}/v1/{signal}", collector.trim_end_matches('/')));
    }
    match collector.strip_suffix("/traces") {
        Some(beside) => Some(format!("{beside}/{signal}")),
        None => (signal == "traces").then(|| collector.to_owned()),
    }
}

/// The reason why lines of the log go nowhere.
const NO_PATH: &str = "log lines go beside traces: where `otlp_logs` is true, the path has to end with `/traces`, or to be left \
                       out";
const TIMEOUT: Duration = Duration::from_secs(10);
/// The time between two batches.
const PAUSE: Duration = Duration::from_millis(200);
/// The largest number of items of a kind that wait.
const MAX_QUEUED: usize = 8_192;
/// The largest number of items that are sent together.
const MAX_BATCH: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_may_be_named_without_the_path_of_traces() {
        let found = |collector: &str| ["traces", "logs"].map(|signal| endpoint(collector, signal));
        let both = |base: &str| ["traces", "logs"].map(|signal| Some(format!("{base}/{signal}")));
        for bare in ["http://localhost:4318", "http://localhost:4318/"] {
            assert_eq!(found(bare), both("http://localhost:4318/v1"));
        }
        assert_eq!(found("https://a.example/otlp/v1/traces"), both("https://a.example/otlp/v1"));
        let own = "https://a.example/api/spans";
        assert_eq!(found(own), [Some(own.to_owned()), None]);
    }
}
