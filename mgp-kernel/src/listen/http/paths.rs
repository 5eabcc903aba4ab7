use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode};
use mgp_transport::http::{HttpBody, HttpConfig};
use mgp_types::mgp::ServerState;
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use crate::lifecycle::Lifecycle;
use crate::running::RunningConfig;
use crate::servers::fleet::Fleet;

/// Answers `GET` at paths beside the protocol's, but not to web pages from elsewhere. Makes [`Paths`] services.
#[derive(Clone)]
pub(super) struct PathsLayer {
    http: Arc<HttpConfig>,
    find: Arc<Find>,
}

/// What is at a path, if anything is.
type Find = dyn Fn(&str) -> Option<Page> + Send + Sync;

/// What is told at a path.
struct Page {
    status: StatusCode,
    content_type: &'static str,
    text: String,
}

impl PathsLayer {
    /// `/healthz`: whether this process answers; `/readyz`: whether it takes calls, and how many servers are connected.
    pub(super) fn health(http: Arc<HttpConfig>, fleet: Arc<Fleet>, lifecycle: Arc<Lifecycle>) -> Self {
        Self { http, find: Arc::new(move |path| health(&fleet, &lifecycle, path)) }
    }

    /// `/metrics`, as `text` writes them in the text format of Prometheus.
    pub(super) fn metrics(
        http: Arc<HttpConfig>,
        config: Arc<RunningConfig>,
        text: impl Fn() -> String + Send + Sync + 'static,
    ) -> Self {
        let find = move |path: &str| {
            let served = path == "/metrics" && config.load().telemetry.metrics;
            let content_type = "text/plain; version=0.0.4; charset=utf-8";
            served.then(|| Page { status: StatusCode::OK, content_type, text: text() })
        };
        Self { http, find: Arc::new(find) }
    }
}

fn health(fleet: &Fleet, lifecycle: &Lifecycle, path: &str) -> Option<Page> {
    let (status, text) = match path {
        "/healthz" => (StatusCode::OK, r#"{"status":"ok"}"#.to_owned()),
        "/readyz" => {
            let servers = fleet.all();
            let connected = servers.iter().filter(|server| server.state() == ServerState::Connected).count();
            let (status, word) = if lifecycle.is_stopping() {
                (StatusCode::SERVICE_UNAVAILABLE, "draining")
            } else {
                (StatusCode::OK, "ready")
            };
            let total = servers.len();
            (status, format!(r#"{{"status":"{word}","servers":{total},"connected":{connected}}}"#))
        }
        _ => return None,
    };
    Some(Page { status, content_type: "application/json", text })
}

impl Page {
    fn refused() -> Self {
        let text = "this `Host` or `Origin` is not served; `listen.allowed_hosts` and `allowed_origins` name others\n";
        Self {
            status: StatusCode::FORBIDDEN,
            content_type: "text/plain; charset=utf-8",
            text: text.to_owned(),
        }
    }

    fn into_response(self) -> http::Response<HttpBody> {
        let mut response = http::Response::new(HttpBody::from(bytes::Bytes::from(self.text)));
        *response.status_mut() = self.status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

impl<S> Layer<S> for PathsLayer {
    type Service = Paths<S>;

    fn layer(&self, inner: S) -> Paths<S> {
        Paths { inner, paths: self.clone() }
    }
}

/// The service of [`PathsLayer`].
#[derive(Clone)]
pub(super) struct Paths<S> {
    inner: S,
    paths: PathsLayer,
}

impl<S, B> Service<http::Request<B>> for Paths<S>
where
    S: Service<http::Request<B>, Response = http::Response<HttpBody>, Error = Infallible>,
{
    type Response = http::Response<HttpBody>;
    type Error = Infallible;
    type Future = PathsFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let PathsLayer { http, find } = &self.paths;
        if request.method() == Method::GET
            && let Some(page) = find(request.uri().path())
        {
            let answers = http.answers_beside(request.headers(), request.uri());
            return PathsFuture::Page { page: Some(if answers { page } else { Page::refused() }) };
        }
        PathsFuture::Passed { future: self.inner.call(request) }
    }
}

pin_project! {
    /// The future of [`Paths`].
    #[project = Projection]
    pub(super) enum PathsFuture<F> {
        Page { page: Option<Page> },
        Passed { #[pin] future: F },
    }
}

impl<F: Future<Output = Result<http::Response<HttpBody>, Infallible>>> Future for PathsFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            Projection::Passed { future } => future.poll(cx),
            Projection::Page { page } => {
                page.take().map_or(Poll::Pending, |page| Poll::Ready(Ok(page.into_response())))
            }
        }
    }
}
