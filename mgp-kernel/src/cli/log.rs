use mgp_discovery::config::model::TelemetrySettings;

use super::exit::Failure;
use crate::Telemetry;

/// Tells what happens as the command line says, or else as is configured.
pub(super) fn start(verbosity: Verbosity, settings: &TelemetrySettings) -> Result<Telemetry, Failure> {
    let chosen = match verbosity {
        Verbosity::Quiet => Some("error"),
        Verbosity::Usual => None,
        Verbosity::More => Some("info"),
        Verbosity::All => Some("info,mgp=trace"),
    };
    Telemetry::start(settings, chosen).map_err(|error| Failure::usage(error.to_string()))
}

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verbosity {
    Quiet,
    Usual,
    More,
    All,
}
