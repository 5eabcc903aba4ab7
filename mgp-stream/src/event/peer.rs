//! A client on one connection to a server behind the layer, for tests.

use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::mgp::Event;
use mgp_types::{
    BoxFuture, Error, Gate, Gated, Method, Object, Outbox, Principal, Request, Response, Revision, Session,
    StreamId,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tower_service::Service;

use super::server::EventQuotas;
use super::{EventsGate, Publisher};
use crate::doubles::{self, TestPort, TestServer, object, session};

/// Returns a server that acknowledges requests that listen, unless told to refuse or to be late, and knows nothing
/// else.
pub(super) fn bare() -> TestServer {
    doubles::server(|request| async move {
        if request.method != Method::LISTEN || request.params.contains("refuse") {
            return Err(Error::method_not_found(&request.method));
        }
        let mut acknowledged = Object::new();
        acknowledged.set("notifications", request.params.get("notifications").unwrap());
        let notification = Request::notify(Method::ACKNOWLEDGED, acknowledged);
        let (outbox, late) = (request.context.outbox, request.params.contains("late"));
        let acknowledging = async move { outbox.notify(notification).await };
        if late {
            // The task runs whether or not the request lasts that long.
            drop(tokio::spawn(acknowledging));
        } else {
            acknowledging.await?;
        }
        std::future::pending().await
    })
}

impl TestPort {
    /// Returns the events that came since the last time, and checks that no other message did.
    #[track_caller]
    pub(super) fn events(&self) -> Vec<Event> {
        let event = |request: Request| {
            assert_eq!(request.method, Method::EVENT);
            request.body().unwrap()
        };
        self.take().into_iter().map(event).collect()
    }

    #[track_caller]
    pub(super) fn seqs(&self) -> Vec<u64> {
        self.events().iter().filter_map(|event| event.seq).collect()
    }
}

pub(super) fn serve(publisher: &Publisher, quotas: EventQuotas) -> Gated<EventsGate, TestServer> {
    EventsGate::with_quotas(publisher.clone(), quotas).layer(bare())
}

/// One connection of a client to the service.
#[derive(Debug, Clone)]
pub(super) struct ClientConnection<S> {
    pub(super) service: S,
    pub(super) port: Arc<TestPort>,
    pub(super) session: Arc<Session>,
    pub(super) principal: Option<Principal>,
}

impl<S: Clone> ClientConnection<S> {
    /// Creates a peer with a session whose outbox is `port`.
    pub(super) fn with(service: &S, extensions: &[&str], port: Arc<TestPort>) -> Self {
        let mut session = session(Revision::V2025_11_25, extensions);
        session.outbox = Outbox::new(port.clone(), StreamId::STANDALONE);
        Self { service: service.clone(), port, session: Arc::new(session), principal: None }
    }

    pub(super) fn new(service: &S) -> Self {
        Self::with(service, &["bidirectional"], TestPort::new())
    }

    /// Creates a peer without a session: each request comes with its own outbox.
    pub(super) fn stateless(service: &S) -> Self {
        let session = Arc::new(session(Revision::V2026_07_28, &["events"]));
        Self { service: service.clone(), port: TestPort::new(), session, principal: None }
    }

    pub(super) fn named(mut self, name: &str) -> Self {
        self.principal = Some(Principal::new(name));
        self
    }

    fn with_context(&self, mut request: Request) -> Request {
        request.context.session = Some(self.session.clone());
        request.context.principal.clone_from(&self.principal);
        request.context.outbox = Outbox::new(self.port.clone(), StreamId::fresh());
        request
    }
}

impl<S> Service<Request> for ClientConnection<S>
where
    S: Service<Request, Response = Response, Error = Error, Future: Send> + Clone + 'static,
{
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if self.port.is_cut() {
            return Box::pin(async { Err(Error::disconnected("cut")) });
        }
        let request = self.with_context(request);
        Box::pin(self.service.call(request))
    }
}

impl<S> ClientConnection<S>
where
    S: Service<Request, Response = Response, Error = Error, Future: Send> + Clone + 'static,
{
    pub(super) async fn ask<P: Serialize, R: DeserializeOwned>(
        &mut self,
        method: &'static str,
        params: &P,
    ) -> Result<R, Error> {
        self.call(Request::with_body(method, params).unwrap()).await?.body()
    }
}

/// Returns data that tells which event it is.
pub(super) fn data(number: u64) -> Object {
    object(&format!(r#"{{"n":{number}}}"#))
}
