//! A server's own life: health, graceful shutdown, changes of state (MGP §11.3, §11.4).
//!
//! ```
//! use std::time::Duration;
//!
//! use mgp_lifecycle::server::{DrainOutcome, ServerLifecycle, LifecycleLayer};
//! use mgp_types::mgp::{ServerState, ShutdownReason};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), mgp_lifecycle::InvalidTransition> {
//! let life = ServerLifecycle::new("mind.cerebras".into());
//! life.check("database_connected", async || true);
//! let layer = LifecycleLayer::new(life.clone()); // goes around the server, inside of the era
//! life.ready()?;
//!
//! let how = life.shutdown(ShutdownReason::OperatorRequest, Duration::from_secs(30)).await;
//! assert_eq!((how, life.state()), (DrainOutcome::Finished, ServerState::Disconnected));
//! # let _ = layer;
//! # Ok(())
//! # }
//! ```
//!
//! | | |
//! |---|---|
//! | [`ServerLifecycle`] | the handle of an application: state, checks, shutdown |
//! | [`LifecycleLayer`] | answers the methods of §11, counts calls, refuses new ones while the server stops |
//! | [`ShutdownPolicy`], [`DrainOutcome`] | the peers that may stop the server, and the way it ended |

mod examination;
mod layer;
mod run;
mod server_lifecycle;

pub use self::layer::{LifecycleFuture, LifecycleLayer, LifecycleService};
pub use self::run::{DrainOutcome, ShutdownPolicy};
pub use self::server_lifecycle::ServerLifecycle;

#[cfg(test)]
mod tests;
