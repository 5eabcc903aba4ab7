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

/// Tells what happens while a command runs that is no kernel's, if somebody asked for that: what such a command has to
/// say, it prints.
pub(super) fn start_if_asked(verbosity: Verbosity) -> Result<Option<Telemetry>, Failure> {
    let is_asked =
        matches!(verbosity, Verbosity::More | Verbosity::All) || std::env::var_os("MGP_LOG").is_some();
    is_asked.then(|| start(verbosity, &TelemetrySettings::default())).transpose()
}

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verbosity {
    Quiet,
    Usual,
    More,
    All,
}
