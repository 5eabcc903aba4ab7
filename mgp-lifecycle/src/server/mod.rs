//! A server's own life: health, graceful shutdown, changes of state (MGP §11.3, §11.4).
//!
//! ```
//! use std::time::Duration;
//!
//! use mgp_lifecycle::server::{Drained, Life, LifeLayer};
//! use mgp_types::mgp::{ServerState, ShutdownReason};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), mgp_lifecycle::NoSuchTransition> {
//! let life = Life::new("mind.cerebras".into());
//! life.check("database_connected", async || true);
//! let layer = LifeLayer::new(life.clone()); // goes around the server, inside of the era
//! life.ready()?;
//!
//! let how = life.shutdown(ShutdownReason::OperatorRequest, Duration::from_secs(30)).await;
//! assert_eq!((how, life.state()), (Drained::Finished, ServerState::Disconnected));
//! # let _ = layer;
//! # Ok(())
//! # }
//! ```
//!
//! | | |
//! |---|---|
//! | [`Life`] | the handle of an application: state, checks, shutdown |
//! | [`LifeLayer`] | answers the methods of §11, counts calls, refuses new ones while the server stops |
//! | [`ShutdownPolicy`], [`Drained`] | the peers that may stop the server, and the way it ended |
//! | [`DeadlineGateLayer`] | ends calls whose deadline is over |

mod answer;
mod audience;
mod deadline;
mod durations;
mod examination;
mod future;
mod in_work;
mod layer;
mod life;
mod run;
mod stopping;
mod visit;

pub use self::deadline::{DeadlineGate, DeadlineGateFuture, DeadlineGateLayer};
pub use self::future::LifeFuture;
pub use self::layer::{LifeLayer, LifeService};
pub use self::life::Life;
pub use self::stopping::{Drained, ShutdownPolicy};

#[cfg(test)]
mod tests;
