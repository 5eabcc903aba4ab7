//! The requests that outlive a call, and their repetition to a restarted server.

mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{Event, Extension, method};
use mgp_types::{
    Error, Flow, Gate, Gated, Origin, RawJson, Request, Response, RpcService, Session, call_once,
};
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use self::state::{ReplayedRequest, StandingChange, StandingState, Subscription};

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

/// The service that [`StandingRequests`] makes as a layer.
///
/// The service sits around the [`SupervisedService`](crate::supervise::SupervisedService) of the server. The service reads and writes
/// no slot. The service replaces the name of the subscription that a request resumes or ends by the server's current
/// name, and refuses nothing. The service allocates, and takes a lock for a moment, for requests that stand and those
/// that take them back. Dropping the future drops the call, which is then not noted.
pub type StandingRequestsService<S> = Gated<StandingRequests, S>;

impl Gate for StandingRequests {
    type Pass = Option<Box<StandingChange>>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let wish = StandingChange::of(request).map(Box::new);
        if let Some(StandingChange::Subscription(_) | StandingChange::NoSubscription(_)) = wish.as_deref() {
            self.rename(request);
        }
        Flow::Pass(wish)
    }

    fn leave(&self, wish: Self::Pass, outcome: &mut Result<Response, Error>) {
        if let (Some(wish), Ok(response)) = (wish, outcome) {
            self.0.lock().note(*wish, response);
        }
    }
}

/// The time for all requests; a supervisor gives each step thirty seconds by default.
const LONGEST_RESTORE: Duration = Duration::from_secs(10);

const AT_ONCE: usize = 16;

impl StandingRequests {
    /// Repeats the noted requests to an incarnation of the server, which `service` leads to and which agreed on
    /// `session`: requests that the session does not support are left out, so that a server without MGP sees none of
    /// them. The future is meant for [`Supervisor::with_restore`](crate::supervise::Supervisor::with_restore).
    ///
    /// Several requests are on their way at a time. A request that the server refuses or does not answer is noted in
    /// the log and repeated after the next restart; all together take no more than ten seconds.
    ///
    /// # Errors
    /// The connection is lost.
    ///
    /// # Cancel safety
    /// Dropping the future takes the requests back that are on their way.
    pub fn restore<S: RpcService>(
        &self,
        service: S,
        session: Arc<Session>,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<S> {
        let requests = self.clone();
        async move {
            let mut waiting = requests.0.lock().again();
            waiting.retain(|again| exists_in(&session, again));
            // The last is taken first.
            waiting.reverse();
            let deadline = Instant::now() + LONGEST_RESTORE;
            let (mut asked, mut forgotten) = (JoinSet::new(), Vec::new());
            loop {
                while asked.len() < AT_ONCE && Instant::now() < deadline {
                    let Some(again) = waiting.pop() else { break };
                    let asking = requests.clone().ask(service.clone(), Arc::clone(&session), again);
                    asked.spawn(timeout_at(deadline, asking));
                }
                match asked.join_next().await {
                    // The order keeps the name of a new subscription from being taken for that of an old one.
                    None if !forgotten.is_empty() && Instant::now() < deadline => {
                        std::mem::swap(&mut waiting, &mut forgotten);
                    }
                    None => break,
                    Some(Ok(Ok(Ok(None)))) => {}
                    Some(Ok(Ok(Ok(Some(unknown))))) => forgotten.push(ReplayedRequest::Anew(unknown)),
                    Some(Ok(Ok(Err(error)))) if error.origin() == Origin::Connection => return Err(error),
                    Some(Ok(Ok(Err(error)))) => tracing::warn!(%error, "a standing request was refused"),
                    Some(Ok(Err(_)) | Err(_)) => tracing::warn!("a standing request was not answered"),
                }
            }
            let left = waiting.len() + forgotten.len();
            if left > 0 {
                tracing::warn!(left, "there was no time for all standing requests");
            }
            Ok(())
        }
    }

    /// Writes the name that a subscription has now.
    fn rename(&self, request: &mut Request) {
        let named = request.params.text("subscription_id");
        let Some(current) = named.and_then(|id| self.0.lock().renamed(&id)) else { return };
        if let Ok(current) = RawJson::from_value(&current) {
            request.params.set("subscription_id", current);
            // The other subscription counts from its own beginning.
            request.params.remove("after_seq");
        }
    }

    /// Sends one request; returns the subscription if the server does not know it.
    async fn ask<S: RpcService>(
        self,
        service: S,
        session: Arc<Session>,
        again: ReplayedRequest,
    ) -> Result<Option<Subscription>, Error> {
        let (subscription, asked) = match again {
            ReplayedRequest::Request(method, params) => {
                return call(service, session, Request::call(method, params)).await.map(|_| None);
            }
            ReplayedRequest::Resumed(subscription) => (subscription.clone(), subscription.resuming()),
            ReplayedRequest::Anew(subscription) => (subscription.clone(), subscription.wanted),
        };
        let request = Request::with_body(method::EVENTS_SUBSCRIBE, &asked)?;
        match call(service, session, request).await {
            // Servers use any code for that; a refusal for another reason will be repeated.
            Err(error) if asked.subscription_id.is_some() && error.origin() == Origin::Peer => {
                Ok(Some(subscription))
            }
            answer => {
                self.0.lock().restored(&subscription.known_as, answer?.body()?);
                Ok(None)
            }
        }
    }
}

fn exists_in(session: &Session, again: &ReplayedRequest) -> bool {
    match again {
        ReplayedRequest::Request(method, _) => method.exists_in(session.revision),
        ReplayedRequest::Resumed(_) | ReplayedRequest::Anew(_) => session.has(&Extension::Events),
    }
}

async fn call<S: RpcService>(
    service: S,
    session: Arc<Session>,
    mut request: Request,
) -> Result<Response, Error> {
    request.context.session = Some(session);
    call_once(service, request).await
}
