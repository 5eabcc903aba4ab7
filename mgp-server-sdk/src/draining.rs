//! How serving ends when the server's life does.

use std::future::{Future, pending};
use std::time::Duration;

use mgp_lifecycle::server::Life;
use mgp_types::mgp::ShutdownReason;

/// Is done when the server has drained; never, if it has no life.
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
    // Fails only where there is no console, and then nobody asks this way.
    if tokio::signal::ctrl_c().await.is_err() {
        pending::<()>().await;
    }
}

/// How long calls may take to finish when the process is asked to terminate.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
