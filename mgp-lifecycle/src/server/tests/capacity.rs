//! Tests of services with limited capacity.

use std::future::{Ready, poll_fn, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures_util::FutureExt;
use mgp_types::{Error, Request, Response};
use tower_layer::Layer;
use tower_service::Service;

use super::{LifecycleLayer, ServerLifecycle, lifecycle, plain, request, tool};

/// A server with room for one call at a time, which a ready caller holds until it calls.
#[derive(Debug)]
struct Narrow {
    is_free: Arc<AtomicBool>,
    holds: bool,
}

impl Clone for Narrow {
    fn clone(&self) -> Self {
        Self { is_free: self.is_free.clone(), holds: false }
    }
}

impl Service<Request> for Narrow {
    type Response = Response;
    type Error = Error;
    type Future = Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.holds = self.holds || self.is_free.swap(false, Ordering::Relaxed);
        if self.holds { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    fn call(&mut self, _: Request) -> Self::Future {
        assert!(self.holds, "it was not ready");
        self.holds = false;
        self.is_free.store(true, Ordering::Relaxed);
        ready(Ok(Response::empty()))
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_only_pings_keeps_no_capacity_from_others() {
    let life = ServerLifecycle::new("mind".into());
    life.ready().unwrap();
    let server = Narrow { is_free: Arc::new(AtomicBool::new(true)), holds: false };
    let layer = LifecycleLayer::new(life.clone());
    let (mut pings, mut calls) = (layer.layer(server.clone()), layer.layer(server.clone()));
    for _ in 0..3 {
        poll_fn(|cx| pings.poll_ready(cx)).await.unwrap();
        assert!(pings.call(request(&lifecycle(), "mgp/health/ping", "{}")).await.is_ok());
        poll_fn(|cx| calls.poll_ready(cx)).await.unwrap();
        assert!(calls.call(tool(&plain(), "now")).now_or_never().unwrap().is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_capacity_and_takes_it() {
    let life = ServerLifecycle::new("mind".into());
    life.ready().unwrap();
    let server = Narrow { is_free: Arc::new(AtomicBool::new(false)), holds: false };
    let mut service = LifecycleLayer::new(life.clone()).layer(server.clone());
    let mut waits = Box::pin(service.call(tool(&plain(), "now")));
    assert!((&mut waits).now_or_never().is_none());
    assert_eq!(life.pending(), 1);
    server.is_free.store(true, Ordering::Relaxed);
    assert!((&mut waits).now_or_never().unwrap().is_ok());
    assert_eq!(life.pending(), 0);
}
