use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::exit::Failure;

/// Writes what happens to standard error: as `MGP_LOG` says, else the command line, else the configuration.
pub(super) fn start(verbosity: Verbosity, configured: Option<&str>) -> Result<(), Failure> {
    let of_environment = std::env::var("MGP_LOG").ok();
    let targets = match (of_environment.as_deref(), verbosity, configured) {
        (Some(words), ..) => read(words).map_err(|error| Failure::usage(format!("MGP_LOG: {error}")))?,
        (None, Verbosity::Usual, Some(words)) => {
            read(words).map_err(|error| Failure::usage(format!("`telemetry.log`: {error}")))?
        }
        (None, Verbosity::Quiet, _) => Targets::new().with_default(Level::ERROR),
        (None, Verbosity::Usual, None) => Targets::new().with_default(Level::WARN),
        (None, Verbosity::More, _) => Targets::new().with_default(Level::INFO),
        (None, Verbosity::All, _) => {
            Targets::new().with_default(LevelFilter::INFO).with_target("mgp", Level::TRACE)
        }
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    // Somebody who embeds the command line may have a subscriber already; then it stays.
    let _ = tracing_subscriber::registry().with(targets).with(lines).try_init();
    Ok(())
}

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verbosity {
    Quiet,
    Usual,
    More,
    All,
}

fn read(words: &str) -> Result<Targets, String> {
    words.parse().map_err(|error| format!("`{words}` is no filter such as info or mgp_kernel=debug: {error}"))
}
