//! The spans of the kernel on their way to a collector: OTLP over HTTP, as JSON.

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
use crate::json_receiver::JsonReceiver;

/// The queue to the collector of this process, once there is one.
static QUEUE: OnceLock<SpanQueue> = OnceLock::new();

/// Returns the queue to the collector, if there is one.
pub(super) fn collector() -> Option<&'static SpanQueue> {
    QUEUE.get()
}

/// The bounded queue of spans to the collector. What finds no room is dropped, and counted.
pub(super) struct SpanQueue {
    jobs: mpsc::Sender<ExportJob>,
    dropped: AtomicU64,
}

enum ExportJob {
    Span(Box<FinishedSpan>),
    /// Tells when all spans before were sent.
    Flush(oneshot::Sender<()>),
}

/// A span that has ended, by the conventions for MCP of OpenTelemetry.
#[derive(Debug, Default)]
pub(super) struct FinishedSpan {
    /// The trace, in hexadecimal digits, as are the other ids.
    pub(super) trace: String,
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) method: String,
    pub(super) tool: Option<String>,
    /// The revision of MCP.
    pub(super) revision: Option<&'static str>,
    /// The time since 1970 when the span began.
    pub(super) begun: Duration,
    pub(super) ended: Duration,
    /// The code of the error with which the request ended.
    pub(super) error: Option<String>,
}

impl SpanQueue {
    pub(super) fn send(&self, span: FinishedSpan) {
        if self.jobs.try_send(ExportJob::Span(Box::new(span))).is_err() {
            self.dropped.fetch_add(1, Relaxed);
        }
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// Waits until all spans were sent, but not for long.
    pub(super) async fn flush(&self) {
        let flushed = async {
            let (done, finished) = oneshot::channel();
            self.jobs.send(ExportJob::Flush(done)).await.is_ok() && finished.await.is_ok()
        };
        if !timeout(TIMEOUT, flushed).await.unwrap_or(false) {
            tracing::warn!("the last traces were not sent");
        }
    }
}

impl FinishedSpan {
    fn json(&self) -> Value {
        let mut attributes = vec![attribute("mcp.method.name", &self.method)];
        if let Some(tool) = &self.tool {
            attributes.push(attribute("gen_ai.operation.name", "execute_tool"));
            attributes.push(attribute("gen_ai.tool.name", tool));
        }
        attributes.extend(self.revision.map(|revision| attribute("mcp.protocol.version", revision)));
        let mut status = json!({});
        if let Some(code) = &self.error {
            attributes.push(attribute("error.type", code));
            status = json!({"code": 2});
        }
        let name = self.tool.as_ref().map(|tool| format!("{} {tool}", self.method));
        json!({
            "traceId": self.trace,
            "spanId": self.id,
            "parentSpanId": self.parent.as_deref().unwrap_or_default(),
            "name": name.unwrap_or_else(|| self.method.clone()),
            "kind": 2,
            "startTimeUnixNano": self.begun.as_nanos().to_string(),
            "endTimeUnixNano": self.ended.as_nanos().to_string(),
            "attributes": attributes,
            "status": status,
        })
    }
}

/// Returns spans as a request of OTLP.
fn body(spans: &[Value]) -> String {
    let scope = json!({"scope": {"name": "mgp"}, "spans": spans});
    json!({"resourceSpans": [{"resource": resource(), "scopeSpans": [scope]}]}).to_string()
}

/// Returns an attribute of OTLP whose value is text.
pub(crate) fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// Returns the resource of OTLP that stands for the kernel.
pub(crate) fn resource() -> Value {
    let version = attribute("service.version", env!("CARGO_PKG_VERSION"));
    json!({"attributes": [attribute("service.name", "mgp"), version]})
}

/// The collector of spans.
pub(super) struct Collector(JsonReceiver);

impl Collector {
    /// Returns the collector that the settings name. Does not check that it can be reached.
    ///
    /// # Errors
    /// Fails if the settings of the collector cannot be used.
    pub(super) fn of(settings: &TelemetrySettings) -> Result<Option<Self>, StartError> {
        let Some(url) = &settings.otlp else { return Ok(None) };
        Handle::try_current().map_err(|_| wrong("traces are sent by a tokio runtime only"))?;
        let headers = settings.expanded_otlp_headers(&ProcessEnvironment).map_err(wrong)?;
        JsonReceiver::new(&endpoint(url), &headers, None).map_err(wrong).map(|to| Some(Self(to)))
    }

    /// Has all spans of this process sent from now on, by the task that is returned. It needs a runtime.
    pub(super) fn open(self) -> JoinHandle<()> {
        let (jobs, taken) = mpsc::channel(MAX_QUEUED);
        // The first collector stays; a second one gets nothing.
        let queue = QUEUE.get_or_init(|| SpanQueue { jobs, dropped: AtomicU64::default() });
        tokio::spawn(self.run(queue, taken))
    }

    async fn run(self, queue: &'static SpanQueue, mut taken: mpsc::Receiver<ExportJob>) {
        let mut jobs = Vec::new();
        while taken.recv_many(&mut jobs, MAX_BATCH).await > 0 {
            let (mut spans, mut flushes) = (Vec::new(), Vec::new());
            for job in jobs.drain(..) {
                match job {
                    ExportJob::Span(span) => spans.push(span.json()),
                    ExportJob::Flush(done) => flushes.push(done),
                }
            }
            let number = spans.len() as u64;
            if number > 0
                && let Err(error) = self.0.post(body(&spans), HeaderMap::new()).await
            {
                queue.dropped.fetch_add(number, Relaxed);
                tracing::warn!(error, spans = number, "traces were not sent to the collector");
            }
            for done in flushes {
                // Whoever waited may have given up.
                let _ = done.send(());
            }
            // More spans come meanwhile, and go together.
            sleep(PAUSE).await;
        }
    }
}

fn wrong(what: impl fmt::Display) -> StartError {
    StartError::Config(format!("`telemetry.otlp`: {what}"))
}

/// Returns the address of the collector, which may be given with the path of traces or without any.
fn endpoint(collector: &str) -> String {
    let path = collector.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    if path.is_some_and(|(_, path)| !path.is_empty()) {
        return collector.to_owned();
    }
    format!("{}/v1/traces", collector.trim_end_matches('/'))
}

const TIMEOUT: Duration = Duration::from_secs(10);
/// The time between two batches.
const PAUSE: Duration = Duration::from_millis(200);
/// The largest number of spans that wait.
const MAX_QUEUED: usize = 8_192;
/// The largest number of spans that are sent together.
const MAX_BATCH: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_may_be_named_without_the_path_of_traces() {
        for bare in ["http://localhost:4318", "http://localhost:4318/"] {
            assert_eq!(endpoint(bare), "http://localhost:4318/v1/traces");
        }
        assert_eq!(endpoint("https://a.example/otlp/v1/traces"), "https://a.example/otlp/v1/traces");
    }

    #[test]
    fn a_queue_without_room_drops_spans_and_counts_them() {
        let (jobs, _taken) = mpsc::channel(1);
        let queue = SpanQueue { jobs, dropped: AtomicU64::default() };
        (0..3).for_each(|_| queue.send(FinishedSpan::default()));
        assert_eq!(queue.dropped(), 2);
    }
}
