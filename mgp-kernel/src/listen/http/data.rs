//! The path below which servers read data of other servers: `/data/REF`.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Response, StatusCode};
use mgp_security::GateFuture;
use mgp_transport::http::{HttpBody, HttpConfig};
use tower_layer::Layer;
use tower_service::Service;

use crate::data::DataBroker;

/// A layer that answers requests for data, which prove themselves by the signature in their address and need no key, but
/// not to web pages from other origins. Makes [`Data`] services.
#[derive(Clone)]
pub(super) struct DataLayer {
    pub(super) http: Arc<HttpConfig>,
    pub(super) broker: Arc<DataBroker>,
}

impl<S> Layer<S> for DataLayer {
    type Service = Data<S>;

    fn layer(&self, inner: S) -> Data<S> {
        Data { inner, layer: self.clone() }
    }
}

/// The service of [`DataLayer`].
#[derive(Clone)]
pub(super) struct Data<S> {
    inner: S,
    layer: DataLayer,
}

impl<S, B> Service<http::Request<B>> for Data<S>
where
    S: Service<http::Request<B>, Response = Response<HttpBody>, Error = Infallible>,
{
    type Response = Response<HttpBody>;
    type Error = Infallible;
    type Future = GateFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let DataLayer { http, broker } = &self.layer;
        if !broker.serves(request.uri().path()) {
            return GateFuture::passed(self.inner.call(request));
        }
        let (head, _) = request.into_parts();
        let answers = http.answers_beside(&head.headers, &head.uri);
        let mut answer = Response::new(HttpBody::default());
        if answers {
            answer = broker.answer(&head);
        } else {
            *answer.status_mut() = StatusCode::FORBIDDEN;
        }
        GateFuture::answered(Ok(answer))
    }
}
