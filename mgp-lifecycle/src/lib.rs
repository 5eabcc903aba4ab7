//! The lifecycle of servers (MGP §11), as values without IO or clock: which state follows which, and when a server that
//! ended is started again.
//!
//! ```
//! use std::time::Duration;
//!
//! use mgp_lifecycle::{Ended, Lifecycle, RestartSettings, Restarts, Verdict};
//! use mgp_types::mgp::ServerState;
//!
//! let mut life = Lifecycle::default();
//! life.go(ServerState::Connecting)?;
//! life.go(ServerState::Connected)?;
//! life.go(ServerState::Error)?;
//!
//! let mut restarts = Restarts::new(RestartSettings::default());
//! let verdict = restarts.decide(Ended::InError, Duration::ZERO, 0);
//! assert_eq!(verdict, Verdict::Restart { after: Duration::from_millis(500) });
//! life.go(ServerState::Restarting)?;
//! # Ok::<(), mgp_lifecycle::NoSuchTransition>(())
//! ```
//!
//! | item | what it is |
//! |---|---|
//! | [`Lifecycle`] | where one server is, and where it may go from there (§11.2) |
//! | [`RestartSettings`] | the configuration of restarts (§11.5) |
//! | [`Restarts`] | whether a server that ended is started again, and when |
//!
//! The crate has no features.

pub mod call;
mod caught;
mod chance;
#[cfg(test)]
mod doubles;
mod methods;
mod refusal;
mod restart;
pub mod server;
mod span;
mod state;
pub mod supervise;
mod turnstile;

pub use restart::{Ended, RestartPolicy, RestartSettings, Restarts, Verdict};
pub use state::{Lifecycle, NoSuchTransition};
