//! The repetition of noted requests to a new incarnation.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{Extension, method};
use mgp_types::{Error, Origin, Request, Response, RpcService, Session, call_once};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::StandingRequests;
use super::state::{ReplayedRequest, Subscription};

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
        ReplayedRequest::Resumed(_) | ReplayedRequest::Anew(_) => {
            session.mgp.as_ref().is_some_and(|mgp| mgp.has(&Extension::Events))
        }
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
