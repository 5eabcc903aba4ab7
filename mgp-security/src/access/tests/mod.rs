mod layer;
mod methods;
mod policy;
mod properties;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll};

use mgp_types::mgp::{
    AccessGrant, AccessPermission, AccessQuery, AccessRevoke, AuditEvent, AuditPort, ServerId, Timestamp,
};
use mgp_types::{BoxFuture, Error, Principal, Request, Response};
use parking_lot::Mutex;
use tower_service::Service;

use super::{AccessPolicy, AccessPolicyBuilder};
use crate::Clock;

/// A clock that stands where it is put.
#[derive(Clone, Default)]
struct Hands(Arc<AtomicI64>);

impl Hands {
    fn put(&self, millis: i64) {
        self.0.store(millis, Ordering::Relaxed);
    }

    fn clock(&self) -> Clock {
        let hands = self.clone();
        Clock::new(move || at(hands.0.load(Ordering::Relaxed)))
    }
}

/// An audit trail that keeps everything until it is told to fail.
#[derive(Debug, Default)]
struct Trailing {
    events: Mutex<Vec<AuditEvent>>,
    broken: Mutex<bool>,
}

impl AuditPort for Trailing {
    fn record(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), Error>> {
        let outcome = if *self.broken.lock() {
            Err(Error::internal("the log is full"))
        } else {
            self.events.lock().push(event);
            Ok(())
        };
        Box::pin(std::future::ready(outcome))
    }
}

/// A service that answers every request with the same, and keeps what it was asked.
#[derive(Debug, Clone, Default)]
struct Echo {
    answer: Option<Response>,
    asked: Arc<Mutex<Vec<Request>>>,
}

impl Service<Request> for Echo {
    type Response = Response;
    type Error = Error;
    type Future = std::future::Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        self.asked.lock().push(request);
        std::future::ready(Ok(self.answer.clone().unwrap_or_else(Response::empty)))
    }
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).unwrap()
}

fn admin() -> Principal {
    Principal::operator("admin")
}

fn policy() -> AccessPolicy {
    AccessPolicy::builder().build().unwrap()
}

fn with_trail() -> (AccessPolicyBuilder, Arc<Trailing>) {
    let trail = Arc::new(Trailing::default());
    (AccessPolicy::builder().audit(Arc::clone(&trail) as _), trail)
}

fn grant(agent: &str, server: &str, tool: Option<&str>, permission: AccessPermission) -> AccessGrant {
    let grant = AccessGrant::of_server(agent.into(), server.into(), permission);
    match tool {
        Some(tool) => grant.for_tool(tool.into()),
        None => grant,
    }
}

fn revoke(agent: &str, server: &str, tool: Option<&str>) -> AccessRevoke {
    let revoke = AccessRevoke::of_server(agent.into(), server.into());
    match tool {
        Some(tool) => revoke.for_tool(tool.into()),
        None => revoke,
    }
}

fn query(agent: &str, server: &str, tool: Option<&str>) -> AccessQuery {
    AccessQuery::new(agent.into(), ServerId::from(server), tool.map(Into::into))
}
