//! The layer that sends the lines of the log to the collector, each within the trace of its request.

use std::fmt;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Span, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

use super::log::{LineCounts, count};
use super::otlp::{LINES, attribute, log_record};

/// A line of the log on its way to the collector.
struct LogLine {
    /// The time since 1970 when the line was written.
    time: Duration,
    level: Level,
    message: String,
    fields: Vec<(&'static str, String)>,
    span: Option<TracedSpan>,
}

/// The trace and the span that the collector knows a request by, in hexadecimal digits.
#[derive(Debug, Clone)]
pub(super) struct TracedSpan {
    trace: String,
    id: String,
}

impl TracedSpan {
    /// Has lines that are written for the present request name its span, if lines are sent to a collector.
    pub(super) fn note(trace: &str, id: &str) {
        if LINES.get().is_none() {
            return;
        }
        Span::current().with_subscriber(|(request, subscriber)| {
            let registry = subscriber.downcast_ref::<Registry>();
            if let Some(span) = registry.and_then(|registry| registry.span(request)) {
                span.extensions_mut().replace(Self { trace: trace.to_owned(), id: id.to_owned() });
            }
        });
    }
}

impl LogLine {
    fn json(&self) -> Value {
        let severity = match self.level {
            Level::ERROR => 17,
            Level::WARN => 13,
            Level::INFO => 9,
            Level::DEBUG => 5,
            Level::TRACE => 1,
        };
        let fields = self.fields.iter().map(|(name, value)| attribute(name, value)).collect();
        let nanos = self.time.as_nanos().to_string();
        let mut record = log_record(&nanos, (severity, self.level.as_str()), &self.message, fields);
        if let Some(TracedSpan { trace, id }) = &self.span {
            record["traceId"] = trace.as_str().into();
            record["spanId"] = id.as_str().into();
        }
        record
    }

    fn set(&mut self, field: &Field, value: &str) {
        // Names and messages of peers are in it.
        let value = value.chars().take(MAX_CHARS).collect();
        if field.name() == "message" {
            self.message = value;
        } else {
            self.fields.push((field.name(), value));
        }
    }
}

impl Visit for LogLine {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, value);
    }
}

/// A layer that sends lines of the log to the collector, in the bounds of those on standard error.
#[derive(Default)]
pub(super) struct LogExport(Mutex<LineCounts>);

impl LogExport {
    /// Returns the layer for the lines that pass this filter.
    pub(super) fn filtered<S>(lines: Targets) -> Box<dyn Layer<S> + Send + Sync>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        // The spans of requests lead from lines to traces. What is said of the export would be exported without end.
        let lines = lines.with_target("mgp_transport::trace", LevelFilter::INFO);
        let lines = lines.with_target("mgp_kernel::telemetry", LevelFilter::OFF);
        Layer::<S>::with_filter(Self::default(), lines).boxed()
    }
}

impl<S: Subscriber + for<'span> LookupSpan<'span>> Layer<S> for LogExport {
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let (metadata, time) = (event.metadata(), SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default());
        // Other crates tell of the export itself.
        let Some(queue) = LINES.get().filter(|_| metadata.target().starts_with("mgp")) else { return };
        let minute = i64::try_from(time.as_secs() / 60).unwrap_or_default();
        let Some(left_out) = count(&mut self.0.lock(), metadata, minute) else { return };
        let mut line = LogLine {
            time,
            level: *metadata.level(),
            message: String::new(),
            fields: vec![("code.namespace", metadata.target().to_owned())],
            span: context.event_scope(event).into_iter().flatten().find_map(|span| {
                let extensions = span.extensions();
                extensions.get::<TracedSpan>().cloned()
            }),
        };
        if left_out > 0 {
            line.fields.push(("left_out_before", left_out.to_string()));
        }
        event.record(&mut line);
        queue.send(move || line.json());
    }
}

/// The largest number of characters of a value that are sent.
const MAX_CHARS: usize = 4_096;

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::super::otlp::ExportQueue;
    use super::*;

    /// The only test of this program that has lines sent: the queue is that of the process.
    #[test]
    fn a_line_has_its_severity_its_fields_and_the_span_of_its_request() {
        let (queue, mut taken) = ExportQueue::new();
        assert!(LINES.set(queue).is_ok());
        let export = LogExport::filtered::<Registry>("warn".parse().unwrap());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(export), || {
            tracing::warn!(target: "mgp_kernel::telemetry::otlp", "not sent");
            tracing::info!(target: "mgp_kernel::x", "less than is logged");
            tracing::warn!(target: "hyper::x", "of another crate");
            let request = tracing::info_span!(target: "mgp_transport::trace", "rpc");
            let _entered = request.enter();
            TracedSpan::note("4bf9", "00f0");
            let long = "x".repeat(9_000);
            tracing::error!(target: "mgp_kernel::x", server = %"a\n\"b", number = 7, long, "it fails");
        });
        let line = ExportQueue::next(&mut taken).unwrap();
        assert_eq!((&line["severityNumber"], &line["severityText"]), (&json!(17), &json!("ERROR")));
        assert_eq!((&line["traceId"], &line["spanId"]), (&json!("4bf9"), &json!("00f0")));
        assert_eq!(line["body"], json!({"stringValue": "it fails"}));
        let long = "x".repeat(MAX_CHARS);
        let fields =
            [("code.namespace", "mgp_kernel::x"), ("server", "a\n\"b"), ("number", "7"), ("long", &*long)];
        let fields: Vec<_> = fields.iter().map(|(name, value)| attribute(name, value)).collect();
        assert_eq!(line["attributes"], Value::from(fields));
        assert!(ExportQueue::next(&mut taken).is_none());
    }
}
