//! The paths beside the protocol's: `/healthz`, `/readyz`, `/metrics`, the metadata of tokens, and the data that servers read.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use mgp_security::GateFuture;
use mgp_security::oauth::ResourceServer;
use mgp_transport::http::{HttpBody, HttpConfig};
use mgp_types::mgp::ServerState;
use tower_layer::Layer;
use tower_service::Service;

use crate::data::{DataBroker, empty};
use crate::lifecycle::Lifecycle;
use crate::running::RunningConfig;
use crate::servers::fleet::Fleet;

/// A layer that answers requests at paths beside the protocol's, but not to web pages from other origins. Makes
/// [`HttpPaths`] services.
#[derive(Clone)]
pub(super) struct HttpPathsLayer(Arc<AnswerPath>);

/// Returns the answer to a request with this head, or `None` where the protocol answers it.
type AnswerPath = dyn Fn(&Parts) -> Option<Response<HttpBody>> + Send + Sync;

impl HttpPathsLayer {
    /// Serves what takes no key: `/healthz`, which says whether this process answers, and `/readyz`, which says whether it
    /// takes calls, and how many servers are connected; the document that tells clients who issues the tokens for this
    /// kernel; and the data of servers, which their address gives away.
    pub(super) fn open(
        http: Arc<HttpConfig>,
        fleet: Arc<Fleet>,
        lifecycle: Arc<Lifecycle>,
        tokens: Option<ResourceServer>,
        data: Arc<DataBroker>,
    ) -> Self {
        Self(Arc::new(move |head| {
            let path = head.uri.path();
            if data.serves(path) {
                let is_answered = http.answers_beside(&head.headers, &head.uri);
                return Some(if is_answered { data.answer(head) } else { empty(StatusCode::FORBIDDEN) });
            }
            let metadata = || Some((StatusCode::OK, tokens.as_ref()?.metadata_at(path)?));
            let get = Some(path).filter(|_| head.method == Method::GET)?;
            let (status, text) = health(&fleet, &lifecycle, get).or_else(metadata)?;
            Some(unless_foreign(&http, head, page(status, "application/json", text)))
        }))
    }

    /// Serves `/metrics`, as `text` writes them in the text format of Prometheus.
    pub(super) fn metrics(
        http: Arc<HttpConfig>,
        config: Arc<RunningConfig>,
        text: impl Fn() -> String + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(move |head| {
            let is_metrics = head.method == Method::GET && head.uri.path() == "/metrics";
            let is_served = is_metrics && config.load().telemetry.metrics;
            let metrics = || page(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text());
            is_served.then(|| unless_foreign(&http, head, metrics()))
        }))
    }
}

fn health(fleet: &Fleet, lifecycle: &Lifecycle, path: &str) -> Option<(StatusCode, String)> {
    match path {
        "/healthz" => Some((StatusCode::OK, r#"{"status":"ok"}"#.to_owned())),
        "/readyz" => {
            let servers = fleet.all();
            let connected = servers.iter().filter(|server| server.state() == ServerState::Connected).count();
            let (status, word) = if lifecycle.is_stopping() {
                (StatusCode::SERVICE_UNAVAILABLE, "draining")
            } else {
                (StatusCode::OK, "ready")
            };
            let total = servers.len();
            Some((status, format!(r#"{{"status":"{word}","servers":{total},"connected":{connected}}}"#)))
        }
        _ => None,
    }
}

/// Returns the page, or its refusal where the request is one of a web page from another origin.
fn unless_foreign(http: &HttpConfig, head: &Parts, found: Response<HttpBody>) -> Response<HttpBody> {
    if http.answers_beside(&head.headers, &head.uri) {
        return found;
    }
    let text =
        "this `Host` or `Origin` is not served; `listen.allowed_hosts` and `allowed_origins` name others\n";
    page(StatusCode::FORBIDDEN, "text/plain; charset=utf-8", text)
}

/// Returns a page that nobody keeps.
pub(super) fn page(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::from(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

impl<S> Layer<S> for HttpPathsLayer {
    type Service = HttpPaths<S>;

    fn layer(&self, inner: S) -> HttpPaths<S> {
        HttpPaths { inner, paths: self.clone() }
    }
}

/// The service of [`HttpPathsLayer`].
#[derive(Clone)]
pub(super) struct HttpPaths<S> {
    inner: S,
    paths: HttpPathsLayer,
}

impl<S, B> Service<Request<B>> for HttpPaths<S>
where
    S: Service<Request<B>, Response = Response<HttpBody>, Error = Infallible>,
{
    type Response = Response<HttpBody>;
    type Error = Infallible;
    type Future = GateFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (head, body) = request.into_parts();
        match (self.paths.0)(&head) {
            Some(page) => GateFuture::answered(Ok(page)),
            None => GateFuture::passed(self.inner.call(Request::from_parts(head, body))),
        }
    }
}
