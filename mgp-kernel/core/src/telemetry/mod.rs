//! The telemetry of the kernel: lines on standard error, and traces and lines that are sent to a collector.

pub(crate) mod counts;
pub(crate) mod json_receiver;
mod log;
mod otlp;

use std::borrow::Cow;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use mgp_discovery::config::model::TelemetrySettings;
use mgp_transport::{Trace, TraceLayer};
use mgp_types::mgp::TraceId;
use mgp_types::{
    Error, Flow, Gate, Gated, Method, RawJson, Request, RequestKind, Response, hex, random_bytes,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tower_layer::Layer;
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

pub(crate) use self::log::lines_left_out;
use self::log::{LogExport, TracedSpan};
use self::otlp::{Collector, ExportQueue, LINES, SPANS, spans};
pub(crate) use self::otlp::{attribute, log_record, logs};
use crate::StartError;
use crate::telemetry::counts::short;

/// The lines and traces of this process, from its start until [`end`](Self::end).
#[derive(Debug)]
#[must_use = "what was not yet sent when it is dropped is lost"]
pub struct Telemetry {
    /// The tasks that send traces and lines.
    sending: Vec<JoinHandle<()>>,
}

impl Telemetry {
    /// Starts to write lines to standard error, with the filter of `MGP_LOG` in the environment, else `chosen`, else
    /// that of the settings, else for warnings and worse. Lines are JSON if `MGP_LOG_FORMAT` is `json`. Sends traces to
    /// the collector, if the settings name one, and lines if they say so; then it needs a tokio runtime.
    ///
    /// A subscriber that the process has already stays, and nothing is sent.
    ///
    /// # Errors
    /// Fails if a filter is invalid, or the settings of the collector cannot be used.
    pub fn start(settings: &TelemetrySettings, chosen: Option<&str>) -> Result<Self, StartError> {
        let filter = log::filter(settings, chosen)?;
        let mut collectors = Vec::from_iter(Collector::of(settings, "traces", &SPANS, spans)?);
        let mut layers = vec![log::lines::<Registry>(filter.clone())];
        if settings.otlp_logs {
            collectors.extend(Collector::of(settings, "logs", &LINES, |lines| logs("mgp", lines))?);
            layers.push(LogExport::filtered(filter));
        }
        // A program that embeds the kernel may have a subscriber already.
        if tracing_subscriber::registry().with(layers).try_init().is_err() {
            return Ok(Self { sending: Vec::new() });
        }
        Ok(Self { sending: collectors.into_iter().map(Collector::open).collect() })
    }

    /// Sends the traces and lines that were not sent yet.
    pub async fn end(self) {
        for (sending, queue) in
            self.sending.iter().zip([&SPANS, &LINES].into_iter().filter_map(OnceLock::get))
        {
            queue.flush().await;
            sending.abort();
        }
    }
}

/// Returns the number of spans and log lines that were not sent to the collector.
pub(crate) fn not_exported() -> u64 {
    [&SPANS, &LINES].into_iter().filter_map(OnceLock::get).map(ExportQueue::dropped).sum()
}

/// Opens a span for each request, which is sent to the collector, if there is one.
pub(crate) fn traced<S>(service: S) -> Trace<Gated<SpanGate, S>> {
    TraceLayer::new().layer(SpanGate.layer(service))
}

/// A gate that sends each request to the collector as a span, if there is one, within the span of the caller; the server
/// gets this span as its parent. What the caller does not sample is passed on as it is. Allocates only where there is a
/// collector.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpanGate;

impl Gate for SpanGate {
    type Pass = Option<RequestSpan>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let queue = SPANS.get().filter(|_| request.kind == RequestKind::Call);
        Flow::Pass(queue.and_then(|queue| RequestSpan::begin(queue, request)))
    }

    fn leave(&self, span: Self::Pass, outcome: &mut Result<Response, Error>) {
        if let Some(mut span) = span {
            span.span.error = outcome.as_ref().err().map(|error| error.code().to_string().into());
        }
    }
}

/// The span of a request in work, which is sent when it is dropped.
pub(crate) struct RequestSpan {
    queue: &'static ExportQueue,
    span: FinishedSpan,
}

impl RequestSpan {
    /// Begins a span, and names it to those further in; `None` if the caller does not sample the trace.
    fn begin(queue: &'static ExportQueue, request: &mut Request) -> Option<Self> {
        let carried = request.meta(TRACEPARENT).and_then(|parent| parent.to_text());
        let carried = carried.as_deref().map(str::trim);
        let trace = carried.and_then(TraceId::from_traceparent);
        // The parts of a text that names a trace have fixed lengths.
        let parent = trace.and(carried).map(|parent| (parent[36..52].to_owned(), &parent[53..55]));
        let flags = parent.as_ref().map(|(_, flags)| u8::from_str_radix(flags, 16).unwrap_or_default());
        if flags.is_some_and(|flags| flags & SAMPLED == 0) {
            return None;
        }
        let id = u64::from_be_bytes(random_bytes()).max(1);
        let trace = trace.unwrap_or_else(TraceId::random);
        // The text for a trace that is not sampled differs in its last letter.
        let mut own = trace.to_traceparent(id);
        own.replace_range(own.len() - 1.., "1");
        request.meta_mut_or_new().set(TRACEPARENT, RawJson::from_text(&own));
        let tool = (request.method == Method::TOOLS_CALL).then(|| request.params.text("name"));
        let span = FinishedSpan {
            trace: own[3..35].to_owned(),
            id: String::from_utf8_lossy(&hex::<16>(&id.to_be_bytes())).into_owned(),
            parent: parent.map(|(span, _)| span),
            method: short(request.method.as_str()),
            tool: tool.flatten().map(|name| short(&name)),
            revision: request.context.session.as_ref().map(|session| session.revision.as_str()),
            begun: SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default(),
            // The error of a request whose caller gives up before it is answered.
            error: Some("cancelled".into()),
            ..FinishedSpan::default()
        };
        TracedSpan::note(&span.trace, &span.id);
        Some(Self { queue, span })
    }
}

impl Drop for RequestSpan {
    fn drop(&mut self) {
        self.span.ended = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let span = std::mem::take(&mut self.span);
        self.queue.send(move || span.json());
    }
}

/// A span that has ended, by the conventions for MCP of OpenTelemetry.
#[derive(Debug, Default)]
struct FinishedSpan {
    /// The trace, in hexadecimal digits, as are the other ids.
    trace: String,
    id: String,
    parent: Option<String>,
    method: String,
    tool: Option<String>,
    /// The revision of MCP.
    revision: Option<&'static str>,
    /// The time since 1970 when the span began.
    begun: Duration,
    ended: Duration,
    /// The code of the error with which the request ended.
    error: Option<Cow<'static, str>>,
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

const TRACEPARENT: &str = "traceparent";
/// The flag of a trace that is sampled.
const SAMPLED: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_is_none_is_an_error_that_says_where_it_stands() {
        let mut settings = TelemetrySettings::default();
        settings.log = Some("mgp_kernel=loud".into());
        let error = log::filter(&settings, None).unwrap_err().to_string();
        assert!(error.contains("telemetry.log") && error.contains("mgp_kernel=loud"), "{error}");
        assert!(log::filter(&settings, Some("info")).is_ok());
    }

    #[test]
    fn a_queue_without_room_drops_spans_and_counts_them() {
        let (queue, mut taken) = ExportQueue::new();
        (0..20_000).for_each(|_| queue.send(|| FinishedSpan::default().json()));
        let queued = std::iter::from_fn(|| ExportQueue::next(&mut taken)).count() as u64;
        assert!(queued < 10_000 && queued + queue.dropped() == 20_000, "{queued}");
    }
}
