//! The end of serving, when the server drains or the process is asked to terminate.

use std::future::{Future, pending};
use std::time::Duration;

use mgp_lifecycle::server::Life;
use mgp_types::mgp::ShutdownReason;

/// Waits until the server has drained; for ever, if it has no [`Life`].
pub(crate) async fn drained(life: Option<Life>) {
    match life {
        Some(life) => drop(life.drained().await),
        None => pending().await,
    }
}

/// Serves, and lets `life` drain when the process is asked to terminate.
pub(crate) async fn draining<T>(life: &Life, serving: impl Future<Output = T>) -> T {
    let stopping = async {
        terminated().await;
        life.shutdown(ShutdownReason::OperatorRequest, DRAIN_TIMEOUT).await;
        pending().await
    };
    tokio::select! {
        outcome = serving => outcome,
        never = stopping => never,
    }
}

#[cfg(unix)]
async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut signals) => drop(signals.recv().await),
        Err(error) => {
            tracing::warn!(%error, "the server cannot hear that it is to terminate");
            pending::<()>().await;
        }
    }
}

#[cfg(not(unix))]
async fn terminated() {
    // The wait fails only where there is no console, so that nobody can ask this way.
    if tokio::signal::ctrl_c().await.is_err() {
        pending::<()>().await;
    }
}

/// The time that calls have to finish when the process is asked to terminate.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
