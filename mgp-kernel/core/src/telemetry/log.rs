//! The lines of the kernel's log: on standard error, and on their way to the collector, each within the trace of its request.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use mgp_discovery::config::model::{TelemetrySettings, usual};
use mgp_types::is_hidden;
use mgp_types::mgp::Timestamp;
use mgp_types::secret::{certain_secrets, masked};
use parking_lot::Mutex;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Span, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

use super::otlp::{LINES, attribute, log_record};
use crate::StartError;
use crate::telemetry::counts::{MAX_A_MINUTE, MinuteCount};

/// Returns the filter that says how much is logged.
///
/// # Errors
/// Fails if the filter cannot be read.
pub(super) fn filter(settings: &TelemetrySettings, chosen: Option<&str>) -> Result<Targets, StartError> {
    let of_environment = std::env::var("MGP_LOG").ok();
    let (of_environment, configured) = (of_environment.as_deref(), settings.log.as_deref());
    let said = [("MGP_LOG", of_environment), ("the filter", chosen), ("`telemetry.log`", configured)];
    let said = said.into_iter().find_map(|(said_by, words)| Some((said_by, words?)));
    let (said_by, words) = said.unwrap_or(("", usual::LOG));
    words.parse::<Targets>().map_err(|error| {
        let example = "no filter such as info or mgp_kernel=debug";
        StartError::Config(format!("{said_by}: `{words}` is {example}: {error}"))
    })
}

/// Returns the layer that writes the lines that pass this filter to standard error.
pub(super) fn lines<S>(targets: Targets) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    if std::env::var("MGP_LOG_FORMAT").is_ok_and(|format| format == "json") {
        lines.json().map_event_format(OneLineFormat::new).with_filter(targets).boxed()
    } else {
        lines.compact().map_event_format(OneLineFormat::new).with_filter(targets).boxed()
    }
}

/// A format that writes each event as one line, and escapes characters that a terminal would act upon, or nobody would
/// see: names and messages of peers are in it, and must neither begin a line nor change how another is shown. What is a secret
/// for certain is left out.
///
/// They are escaped in the form of JSON, which lines in JSON need. So that no peer can fill the log, a [`MinuteCount`]
/// bounds the warnings that are written of each place in the program, and the next one says how many were left out.
struct OneLineFormat<F> {
    format: F,
    counted: Mutex<LineCounts>,
}

/// The numbers of the lines of each place of the program: its module and its line there.
type LineCounts = HashMap<(&'static str, u32), MinuteCount>;

impl<F> OneLineFormat<F> {
    fn new(format: F) -> Self {
        Self { format, counted: Mutex::default() }
    }
}

/// Counts a line in this minute. Returns how many lines like it were left out before; `None` if it is left out, too.
fn count(counts: &mut LineCounts, line: &Metadata<'static>, minute: i64) -> Option<u64> {
    // Whoever asks for more than warnings wants all of it.
    if *line.level() > Level::WARN {
        return Some(0);
    }
    let place = (line.target(), line.line().unwrap_or_default());
    counts.entry(place).or_default().count(minute, MAX_A_MINUTE)
}

/// Returns the number of lines of this process that were left out because there were too many of their kind.
pub(crate) fn lines_left_out() -> u64 {
    LEFT_OUT.load(Relaxed)
}

/// The number of lines that were left out.
static LEFT_OUT: AtomicU64 = AtomicU64::new(0);

impl<S, N, F> FormatEvent<S, N> for OneLineFormat<F>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut out: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let minute = Timestamp::now().as_millis() / 60_000;
        let Some(left_out) = count(&mut self.counted.lock(), event.metadata(), minute) else {
            LEFT_OUT.fetch_add(1, Relaxed);
            return Ok(());
        };
        let mut line = String::new();
        self.format.format_event(context, Writer::new(&mut line), event)?;
        if left_out > 0 {
            // A line of JSON gets one member more.
            match line.trim_end().strip_prefix('{') {
                Some(members) => line = format!("{{\"left_out_before\":{left_out},{members}"),
                None => line = format!("{} left_out_before={left_out}", line.trim_end()),
            }
        }
        for c in masked(&line, certain_secrets(&line)).trim_end_matches('\n').chars() {
            if is_hidden(c) {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
            } else {
                out.write_char(c)?;
            }
        }
        out.write_char('\n')
    }
}

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
        let fields: Vec<_> = self.fields.iter().map(|(name, value)| attribute(name, value)).collect();
        let nanos = self.time.as_nanos().to_string();
        let mut record = log_record(&nanos, (severity, self.level.as_str()), &self.message, &fields);
        if let Some(TracedSpan { trace, id }) = &self.span {
            record["traceId"] = trace.as_str().into();
            record["spanId"] = id.as_str().into();
        }
        record
    }

    fn set(&mut self, field: &Field, value: &str) {
        // Names and messages of peers are in it.
        let value = &value[..value.floor_char_boundary(MAX_BYTES)];
        let value = masked(value, certain_secrets(value)).into_owned();
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
        let lines = lines.with_target("mgp_kernel_core::telemetry::otlp", LevelFilter::OFF);
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

/// The largest number of bytes of a value that are sent.
const MAX_BYTES: usize = 4_096;

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use serde_json::json;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::super::otlp::ExportQueue;
    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(is_json: bool, method: &str) -> String {
        let lines = Lines::default();
        let (to, format) = (lines.clone(), tracing_subscriber::fmt::layer().with_ansi(false));
        let layer = format.with_writer(move || to.clone());
        let layer: Box<dyn Layer<_> + Send + Sync> = if is_json {
            layer.json().map_event_format(OneLineFormat::new).boxed()
        } else {
            layer.compact().map_event_format(OneLineFormat::new).boxed()
        };
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let span = tracing::warn_span!("rpc", method = %"x\n\u{1b}[2J\u{202e}y");
            let _entered = span.enter();
            tracing::warn!(%method, "refused\r");
        });
        String::from_utf8(lines.0.lock().clone()).unwrap()
    }

    #[test]
    fn a_flood_of_lines_is_bounded_and_the_rest_counted() {
        let mut counts = LineCounts::new();
        tracing::subscriber::with_default(tracing_subscriber::registry(), || {
            let span = tracing::warn_span!("x");
            let metadata = span.metadata().unwrap();
            let written = (0..1_000).filter(|_| count(&mut counts, metadata, 7).is_some()).count();
            assert_eq!(written as u64, MAX_A_MINUTE);
            assert_eq!(count(&mut counts, metadata, 8), Some(1_000 - MAX_A_MINUTE));
            assert_eq!(count(&mut counts, metadata, 8), Some(0));
        });
    }

    #[test]
    fn nothing_that_a_peer_says_begins_a_line_or_moves_the_cursor() {
        let method = "tools/call\n2026 ERROR forged\u{1b}]0;t\u{7}";
        for is_json in [false, true] {
            let line = written(is_json, method);
            assert_eq!(line.matches('\n').count(), 1, "{line:?}");
            assert!(line.ends_with('\n') && line.contains("forged"), "{line:?}");
            assert!(!line.trim_end().chars().any(is_hidden), "{line:?}");
        }
        assert!(serde_json::from_str::<serde_json::Value>(&written(true, method)).is_ok());
    }

    #[test]
    fn no_secret_that_a_peer_puts_into_a_name_is_written() {
        let own = format!("one__mgp_operators_{}", "0123456789abcdef".repeat(4));
        for secret in
            ["x/ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6", "sk-ant-api03-aB3dE6gH9jK2mN5pQ8sT1vW4", &own]
        {
            for is_json in [false, true] {
                let line = written(is_json, secret);
                assert!(
                    !line.contains(&secret[secret.len() - 16..]) && line.contains("[redacted]"),
                    "{line}"
                );
            }
        }
    }

    /// The only test of this program that has lines sent: the queue is that of the process.
    #[test]
    fn a_line_has_its_severity_its_fields_and_the_span_of_its_request() {
        let (queue, mut taken) = ExportQueue::new();
        assert!(LINES.set(queue).is_ok());
        let export = LogExport::filtered::<Registry>("warn".parse().unwrap());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(export), || {
            tracing::warn!(target: "mgp_kernel_core::telemetry::otlp", "not sent");
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
        let long = "x".repeat(MAX_BYTES);
        let fields =
            [("code.namespace", "mgp_kernel::x"), ("server", "a\n\"b"), ("number", "7"), ("long", &*long)];
        let fields: Vec<_> = fields.iter().map(|(name, value)| attribute(name, value)).collect();
        assert_eq!(line["attributes"], Value::from(fields));
        assert!(ExportQueue::next(&mut taken).is_none());
    }
}
