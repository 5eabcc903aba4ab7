//! The requests that outlive a call, repeated to a restarted server.

mod restore;
mod service;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use mgp_types::mgp::Event;
use parking_lot::Mutex;

use self::state::StandingState;

pub use self::service::StandingRequestsService;

/// The requests that stand until they are taken back: the level of log messages, the resources whose changes matter,
/// and the subscriptions to events. Clones share the same ones.
///
/// As a layer the value notes such requests on their way, and [`restore`](Self::restore) repeats them to another
/// incarnation of the server, before that takes calls. Only requests that the server has answered are noted, and only
/// their lasting parts: not the caller, nor parameters of the single call. There are at most 1024, and a later one
/// replaces an earlier one for the same thing; beyond that, and if one is longer than eight kilobytes, it is not noted.
///
/// A subscription to events is resumed under the name that the server gave it. A server that does not know it any more
/// is asked for another, and events in between are lost; a request that
/// [resumes](mgp_types::mgp::EventSubscribe::resuming) or ends the subscription by its former name then reaches the new
/// one. A resumed subscription begins after the last event that was [heard](Self::heard).
///
/// ```
/// use mgp_lifecycle::supervise::{StandingRequests, Supervisor};
/// # use std::sync::Arc;
/// # use mgp_lifecycle::supervise::{ConnectedServer, SupervisedService};
/// # use mgp_types::{Error, Request, Response, Revision, RpcService, Session};
/// use mgp_types::Gate;
///
/// # #[derive(Clone)]
/// # struct Server;
/// # impl tower_service::Service<Request> for Server {
/// #     type Response = Response;
/// #     type Error = Error;
/// #     type Future = std::future::Ready<Result<Response, Error>>;
/// #     fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Error>> {
/// #         std::task::Poll::Ready(Ok(()))
/// #     }
/// #     fn call(&mut self, _: Request) -> Self::Future {
/// #         std::future::ready(Ok(Response::empty()))
/// #     }
/// # }
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// # let session = Arc::new(Session::new(Revision::V2025_11_25));
/// # let connect = || async { Ok(ConnectedServer::new(Server, std::future::pending())) };
/// let standing = StandingRequests::new();
/// let again = standing.clone();
/// let server = Supervisor::new("files".into(), connect)
///     .with_restore(move |service| again.restore(service, session.clone()))
///     .spawn();
/// let service = standing.layer(server.gate());
/// # fn is_service<T: RpcService>(_: &T) {}
/// # is_service(&service);
/// # assert!(format!("{standing:?}").contains("0"));
/// # });
/// ```
#[derive(Clone, Default)]
pub struct StandingRequests(Arc<Mutex<StandingState>>);

impl StandingRequests {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes that an event has arrived: a subscription that is resumed goes on after it.
    pub fn heard(&self, event: &Event) {
        if let Some(seq) = event.seq {
            self.0.lock().heard(&event.subscription_id, seq);
        }
    }
}

mgp_types::partial_debug!(StandingRequests, self => kept: self.0.lock().len());
