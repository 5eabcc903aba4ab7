//! The supervision of a server: connecting to it, restarting it by policy, probing it, and stopping it gracefully
//! (§11.2, §11.5).
//!
//! ```
//! use std::time::Duration;
//!
//! use mgp_lifecycle::supervise::{ConnectedServer, Supervisor};
//! use mgp_types::mgp::{ServerState, ShutdownReason};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! // A real one starts a process or opens a connection; its service carries requests.
//! let connect = || async { Ok(ConnectedServer::new("the way to the server", std::future::pending())) };
//! let server = Supervisor::new("tools.time".into(), connect).spawn();
//! assert_eq!(server.current().unwrap_err().code(), 2000);
//!
//! server.start();
//! assert_eq!(server.ready(Duration::from_secs(5)).await?, "the way to the server");
//! assert_eq!(server.state(), ServerState::Connected);
//!
//! server.stop(ShutdownReason::KernelShutdown, Duration::from_secs(5)).await;
//! assert_eq!(server.state(), ServerState::Disconnected);
//! # Ok::<(), mgp_types::Error>(())
//! # }).unwrap();
//! ```
//!
//! | item | meaning |
//! |---|---|
//! | [`Connect`], [`ConnectedServer`] | the way to connect to a server, and its result |
//! | [`Supervisor`] | the configuration of one server, before it runs |
//! | [`Supervised`] | the handle of one supervised server, which owns it |
//! | [`SupervisedService`] | passes calls to the current incarnation, or refuses them |
//! | [`StandingRequests`] | the requests that are repeated after a restart |
//! | [`ProbeSettings`], [`ServerHealth`] | the schedule of probes, and the judgement of their answers |
//! | [`probe`], [`ask_to_stop`] | the probe and the request to stop for an `RpcService` |
//!
//! The figure of §11.2 is followed like this:
//!
//! * A server that is to be restarted is `restarting` while it waits for its turn and while it is connected to; in
//!   `error` it stays only if nothing more is planned.
//! * A server that ends in order goes through `draining`, and from there to `disconnected` or `restarting`.
//! * No arrow leads from `connecting`, `restarting` or `error` to `disconnected`. A server that is stopped there ends
//!   in `error`.

mod connect;
mod probe;
mod run;
mod standing;
mod supervised_service;
mod supervisor;
mod supervisor_shared;

pub use self::connect::{Connect, ConnectedServer, ask_to_stop};
pub use self::probe::{ProbeMethod, ProbeResult, ProbeSettings, ServerHealth, probe};
pub use self::standing::{StandingRequests, StandingRequestsService};
pub use self::supervised_service::{SupervisedService, SupervisedServiceFuture};
pub use self::supervisor::{Supervised, Supervisor, TimeLimits};

#[cfg(test)]
mod tests;
