//! The life cycle of servers, and the policies of calls to them: health, shutdown, restarts, deadlines, retries and
//! limits (MGP §11, §14.6).
//!
//! A server has a [life](server::ServerLifecycle) that counts its calls, reports its health, and ends when the last call is done:
//!
//! ```
//! use std::time::Duration;
//!
//! use mgp_lifecycle::server::{DrainOutcome, ServerLifecycle};
//! use mgp_types::mgp::{ServerState, ShutdownReason};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), mgp_lifecycle::InvalidTransition> {
//! let life = ServerLifecycle::new("mind.cerebras".into());
//! let mut changes = life.changes();
//! life.ready()?;
//! let how = life.shutdown(ShutdownReason::OperatorRequest, Duration::from_secs(30)).await;
//! assert_eq!((how, life.state()), (DrainOutcome::Finished, ServerState::Disconnected));
//! assert_eq!(changes.next().await.map(|change| change.new_state), Some(ServerState::Connecting));
//! # Ok(())
//! # }
//! ```
//!
//! | module | side | contents |
//! |---|---|---|
//! | [`server`] | server | health, draining, notifications of changes (§11.3, §11.4) |
//! | [`call`] | caller | one loop for deadlines, retries, circuit breakers and limits; fallbacks (§14.6) |
//! | [`supervise`] | runner of servers | connecting, restarts by policy, probes, restoring (§11.2, §11.5) |
//! | `idempotency` | server or gateway | calls that have their effect once, however often they are made |
//! | `transaction` | server or gateway, caller | calls that are taken back together |
//! | `store` | all of these | what of the last two outlives the process |
//!
//! The crate root holds the types of two modules: the [settings](RestartSettings) of restarts, how a server
//! [ended](ServerEnd), and its [changes](LifecycleChanges) of state.
//!
//! The feature `ext` brings the last three modules, and the feature `store` a file of SQLite for what outlives the process.

mod admission;
pub mod call;
#[cfg(feature = "ext")]
mod detached;
#[cfg(test)]
mod doubles;
#[cfg(feature = "ext")]
pub mod idempotency;
mod refusal;
mod restart;
pub mod server;
mod span;
mod state;
#[cfg(feature = "ext")]
pub mod store;
pub mod supervise;
#[cfg(feature = "ext")]
pub mod transaction;
#[cfg(feature = "ext")]
mod wall_clock;

pub use self::restart::{RestartSettings, ServerEnd};
pub use self::state::{InvalidTransition, LifecycleChanges};
