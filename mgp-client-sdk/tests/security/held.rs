//! A place to get hold of a stack in the middle of a client.

use std::sync::Arc;

use mgp_types::{Error, Request, Response, RpcService};
use parking_lot::Mutex;
use tower_layer::Layer;
use tower_service::Service;

use crate::erased::Erased;

impl Erased {
    /// Sends one request.
    pub(crate) async fn send(&self, request: Request) -> Result<Response, Error> {
        let mut service = self.clone();
        std::future::poll_fn(|cx| Service::poll_ready(&mut service, cx)).await?;
        Service::call(&mut service, request).await
    }
}

/// A layer that does nothing but keep what lies further in, to be used beside the client.
#[derive(Clone, Default)]
pub(crate) struct Held(Arc<Mutex<Option<Erased>>>);

impl Held {
    pub(crate) fn service(&self) -> Erased {
        self.0.lock().clone().expect("the client is connected")
    }
}

impl<S: RpcService<Future: 'static> + Sync> Layer<S> for Held {
    type Service = Erased;

    fn layer(&self, inner: S) -> Erased {
        let erased = Erased::new(inner);
        *self.0.lock() = Some(erased.clone());
        erased
    }
}
