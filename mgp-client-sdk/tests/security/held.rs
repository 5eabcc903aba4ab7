//! A place to get hold of a stack in the middle of a client.

use std::sync::Arc;

use mgp_types::{BoxedService, Error, Request, Response, RpcService};
use parking_lot::Mutex;
use tower_layer::Layer;
use tower_service::Service;

/// Sends one request by itself.
pub(crate) async fn send(service: &BoxedService, request: Request) -> Result<Response, Error> {
    let mut service = service.clone();
    std::future::poll_fn(|cx| service.poll_ready(cx)).await?;
    service.call(request).await
}

/// A layer that does nothing but keep what lies further in, to be used beside the client.
#[derive(Clone, Default)]
pub(crate) struct Held(Arc<Mutex<Option<BoxedService>>>);

impl Held {
    pub(crate) fn service(&self) -> BoxedService {
        self.0.lock().clone().expect("the client is connected")
    }
}

impl<S: RpcService<Future: 'static> + Sync> Layer<S> for Held {
    type Service = BoxedService;

    fn layer(&self, inner: S) -> BoxedService {
        let service = BoxedService::new(inner);
        *self.0.lock() = Some(service.clone());
        service
    }
}
