//! The telemetry of the kernel: lines on standard error, and traces that are sent to a collector.

mod log;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(feature = "otlp")]
mod parent;

use mgp_discovery::config::model::TelemetrySettings;
use mgp_transport::{Trace, TraceLayer};
#[cfg(feature = "otlp")]
use mgp_types::{Gate as _, Gated};
use tower_layer::Layer;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::StartError;

/// The lines and traces of this process, from its start until [`end`](Self::end).
#[derive(Debug)]
#[must_use = "what was not yet sent when it is dropped is lost"]
pub struct Telemetry {
    #[cfg(feature = "otlp")]
    traces: Option<otlp::Traces>,
}

impl Telemetry {
    /// Starts to write lines to standard error, with the filter of `MGP_LOG` in the environment, else `chosen`, else
    /// that of the settings, else for warnings and worse. Lines are JSON if `MGP_LOG_FORMAT` is `json`. Sends traces to
    /// the collector, if the settings name one; then it needs a tokio runtime.
    ///
    /// A subscriber that the process has already stays, and nothing is sent.
    ///
    /// # Errors
    /// Fails if a filter is invalid, the collector cannot be reached in any way, or this build has no traces.
    pub fn start(settings: &TelemetrySettings, chosen: Option<&str>) -> Result<Self, StartError> {
        check(settings)?;
        let subscriber = tracing_subscriber::registry().with(log::lines(settings, chosen)?);
        #[cfg(feature = "otlp")]
        {
            let traces = otlp::Traces::open(settings)?;
            let spans = traces.as_ref().map(otlp::Traces::layer);
            // Without the spans there is nobody to see the traces.
            let traces = subscriber.with(spans).try_init().ok().and(traces);
            Ok(Self { traces })
        }
        #[cfg(not(feature = "otlp"))]
        {
            // A program that embeds the kernel may have a subscriber already.
            let _ = subscriber.try_init();
            Ok(Self {})
        }
    }

    /// Sends the traces that were not sent yet.
    #[cfg_attr(
        not(feature = "otlp"),
        expect(clippy::unused_async, reason = "only traces have to be waited for")
    )]
    pub async fn end(self) {
        #[cfg(feature = "otlp")]
        if let Some(traces) = self.traces {
            traces.end().await;
        }
    }
}

/// Checks that this build has what the settings ask for.
///
/// # Errors
/// Fails if the settings ask for something that this build does not have.
pub(crate) fn check(settings: &TelemetrySettings) -> Result<(), StartError> {
    if cfg!(feature = "otlp") || settings.otlp.is_none() {
        return Ok(());
    }
    Err(StartError::Config(
        "`telemetry.otlp`: this build sends no traces; build `mgp` with `--features otlp`, or leave it out"
            .into(),
    ))
}

/// Opens a span for each request, within the caller's span that `traceparent` names; the server gets the kernel's span
/// as the parent.
#[cfg(feature = "otlp")]
pub(crate) fn traced<S>(service: S) -> parent::ExtractSpan<Trace<Gated<parent::InjectSpan, S>>> {
    parent::ExtractSpan(TraceLayer::new().layer(parent::InjectSpan.layer(service)))
}

/// Opens a span for each request. The caller's `traceparent` goes to the server as it is.
#[cfg(not(feature = "otlp"))]
pub(crate) fn traced<S>(service: S) -> Trace<S> {
    TraceLayer::new().layer(service)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(not(feature = "otlp"))]
    fn a_collector_that_is_not_sent_to_is_an_error_that_names_the_build() {
        let mut settings = TelemetrySettings::default();
        assert!(check(&settings).is_ok());
        settings.otlp = Some("http://localhost:4318".into());
        let error = check(&settings).unwrap_err().to_string();
        assert!(error.contains("telemetry.otlp") && error.contains("--features otlp"), "{error}");
    }

    #[test]
    fn a_filter_that_is_none_is_an_error_that_says_where_it_stands() {
        let mut settings = TelemetrySettings::default();
        settings.log = Some("mgp_kernel=loud".into());
        let error = log::lines::<tracing_subscriber::Registry>(&settings, None).err().unwrap().to_string();
        assert!(error.contains("telemetry.log") && error.contains("mgp_kernel=loud"), "{error}");
        assert!(log::lines::<tracing_subscriber::Registry>(&settings, Some("info")).is_ok());
    }
}
