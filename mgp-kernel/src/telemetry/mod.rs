//! The telemetry of the kernel: lines on standard error, and traces and lines that are sent to a collector.

mod log;
mod log_export;
mod otlp;
mod span;

use std::sync::OnceLock;

use mgp_discovery::config::model::TelemetrySettings;
use mgp_transport::{Trace, TraceLayer};
use mgp_types::{Gate as _, Gated};
use tokio::task::JoinHandle;
use tower_layer::Layer;
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

pub(crate) use self::log::lines_left_out;
use self::log_export::LogExport;
use self::otlp::{Collector, ExportQueue, LINES, SPANS, spans};
pub(crate) use self::otlp::{attribute, log_record, logs};
use self::span::SpanGate;
use crate::StartError;

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
}
