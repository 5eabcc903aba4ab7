//! The telemetry of the kernel: lines on standard error, and traces that are sent to a collector.

mod log;
mod otlp;
mod span;

use mgp_discovery::config::model::TelemetrySettings;
use mgp_transport::{Trace, TraceLayer};
use mgp_types::{Gate as _, Gated};
use tokio::task::JoinHandle;
use tower_layer::Layer;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

pub(crate) use self::log::lines_left_out;
use self::otlp::{Collector, collector};
pub(crate) use self::otlp::{attribute, resource};
use self::span::SpanGate;
use crate::StartError;

/// The lines and traces of this process, from its start until [`end`](Self::end).
#[derive(Debug)]
#[must_use = "what was not yet sent when it is dropped is lost"]
pub struct Telemetry {
    /// The task that sends traces.
    sending: Option<JoinHandle<()>>,
}

impl Telemetry {
    /// Starts to write lines to standard error, with the filter of `MGP_LOG` in the environment, else `chosen`, else
    /// that of the settings, else for warnings and worse. Lines are JSON if `MGP_LOG_FORMAT` is `json`. Sends traces to
    /// the collector, if the settings name one; then it needs a tokio runtime.
    ///
    /// A subscriber that the process has already stays, and nothing is sent.
    ///
    /// # Errors
    /// Fails if a filter is invalid, or the settings of the collector cannot be used.
    pub fn start(settings: &TelemetrySettings, chosen: Option<&str>) -> Result<Self, StartError> {
        let lines = tracing_subscriber::registry().with(log::lines(settings, chosen)?);
        let collector = Collector::of(settings)?;
        // A program that embeds the kernel may have a subscriber already.
        let is_first = lines.try_init().is_ok();
        Ok(Self { sending: collector.filter(|_| is_first).map(Collector::open) })
    }

    /// Sends the traces that were not sent yet.
    pub async fn end(self) {
        if let (Some(sending), Some(queue)) = (self.sending, collector()) {
            queue.flush().await;
            sending.abort();
        }
    }
}

/// Returns the number of spans that were not sent to the collector.
pub(crate) fn dropped_spans() -> u64 {
    collector().map_or(0, otlp::SpanQueue::dropped)
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
        let error = log::lines::<tracing_subscriber::Registry>(&settings, None).err().unwrap().to_string();
        assert!(error.contains("telemetry.log") && error.contains("mgp_kernel=loud"), "{error}");
        assert!(log::lines::<tracing_subscriber::Registry>(&settings, Some("info")).is_ok());
    }
}
