use mgp_discovery::config::model::TelemetrySettings;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;

use crate::StartError;

/// What writes lines to standard error.
///
/// # Errors
/// What says how much is told cannot be read.
pub(super) fn lines<S>(
    settings: &TelemetrySettings,
    chosen: Option<&str>,
) -> Result<Box<dyn Layer<S> + Send + Sync>, StartError>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let of_environment = std::env::var("MGP_LOG").ok();
    let (said_by, words) = match (of_environment.as_deref(), chosen, settings.log.as_deref()) {
        (Some(words), ..) => ("MGP_LOG", words),
        (None, Some(words), _) => ("the filter", words),
        (None, None, Some(words)) => ("`telemetry.log`", words),
        (None, None, None) => ("", USUAL),
    };
    let targets: Targets = words.parse().map_err(|error| {
        let example = "no filter such as info or mgp_kernel=debug";
        StartError::Config(format!("{said_by}: `{words}` is {example}: {error}"))
    })?;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    Ok(if std::env::var("MGP_LOG_FORMAT").is_ok_and(|format| format == "json") {
        lines.json().with_filter(targets).boxed()
    } else {
        lines.compact().with_filter(targets).boxed()
    })
}

const USUAL: &str = "warn";
