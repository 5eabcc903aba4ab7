//! The log of a command on standard error.

use mgp_discovery::config::model::TelemetrySettings;

use crate::Telemetry;
use crate::terminal::Failure;

/// Starts the log at the level of the command line, or else at the configured level.
pub(super) fn start(verbosity: Verbosity, settings: &TelemetrySettings) -> Result<Telemetry, Failure> {
    let chosen = match verbosity {
        Verbosity::Quiet => Some("error"),
        Verbosity::Usual => None,
        Verbosity::More => Some("info"),
        Verbosity::All => Some("info,mgp=trace"),
    };
    Telemetry::start(settings, chosen).map_err(|error| Failure::usage(error.to_string()))
}

/// Starts the log of a command that runs no kernel for clients, if the options or `MGP_LOG` ask for it. Otherwise such
/// a command logs nothing, because it prints what it has to say.
pub(super) fn start_if_asked(verbosity: Verbosity) -> Result<Option<Telemetry>, Failure> {
    let is_asked =
        matches!(verbosity, Verbosity::More | Verbosity::All) || std::env::var_os("MGP_LOG").is_some();
    is_asked.then(|| start(verbosity, &TelemetrySettings::default())).transpose()
}

/// The amount that is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verbosity {
    Quiet,
    Usual,
    More,
    All,
}
