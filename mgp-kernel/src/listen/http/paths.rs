//! The paths beside the protocol's: `/healthz`, `/readyz` and `/metrics`.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode};
use mgp_security::GateFuture;
use mgp_security::oauth::ResourceServer;
use mgp_transport::http::{HttpBody, HttpConfig};
use mgp_types::mgp::ServerState;
use tower_layer::Layer;
use tower_service::Service;

use crate::lifecycle::Lifecycle;
use crate::running::RunningConfig;
use crate::servers::fleet::Fleet;

/// A layer that answers `GET` at paths beside the protocol's, but not to web pages from other origins. Makes
/// [`HttpPaths`] services.
#[derive(Clone)]
pub(super) struct HttpPathsLayer {
    http: Arc<HttpConfig>,
    find: Arc<Find>,
}

/// A lookup of the page at a path.
type Find = dyn Fn(&str) -> Option<HttpPage> + Send + Sync;

/// The page at a path.
struct HttpPage {
    status: StatusCode,
    content_type: &'static str,
    text: String,
}

impl HttpPathsLayer {
    /// Serves `/healthz`, which says whether this process answers, and `/readyz`, which says whether it takes calls,
    /// and how many servers are connected.
    pub(super) fn health(http: Arc<HttpConfig>, fleet: Arc<Fleet>, lifecycle: Arc<Lifecycle>) -> Self {
        Self { http, find: Arc::new(move |path| health(&fleet, &lifecycle, path)) }
    }

    /// Serves the document that tells clients who issues the tokens for this kernel.
    pub(super) fn token_metadata(http: Arc<HttpConfig>, tokens: Option<ResourceServer>) -> Self {
        let find = move |path: &str| {
            let text = tokens.as_ref()?.metadata_at(path)?;
            Some(HttpPage { status: StatusCode::OK, content_type: "application/json", text })
        };
        Self { http, find: Arc::new(find) }
    }

    /// Serves `/metrics`, as `text` writes them in the text format of Prometheus.
    pub(super) fn metrics(
        http: Arc<HttpConfig>,
        config: Arc<RunningConfig>,
        text: impl Fn() -> String + Send + Sync + 'static,
    ) -> Self {
        let find = move |path: &str| {
            let served = path == "/metrics" && config.load().telemetry.metrics;
            let content_type = "text/plain; version=0.0.4; charset=utf-8";
            served.then(|| HttpPage { status: StatusCode::OK, content_type, text: text() })
        };
        Self { http, find: Arc::new(find) }
    }
}

fn health(fleet: &Fleet, lifecycle: &Lifecycle, path: &str) -> Option<HttpPage> {
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
    Some(HttpPage { status, content_type: "application/json", text })
}

impl HttpPage {
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

impl<S, B> Service<http::Request<B>> for HttpPaths<S>
where
    S: Service<http::Request<B>, Response = http::Response<HttpBody>, Error = Infallible>,
{
    type Response = http::Response<HttpBody>;
    type Error = Infallible;
    type Future = GateFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let HttpPathsLayer { http, find } = &self.paths;
        if request.method() == Method::GET
            && let Some(page) = find(request.uri().path())
        {
            let answers = http.answers_beside(request.headers(), request.uri());
            let page = if answers { page } else { HttpPage::refused() };
            return GateFuture::answered(Ok(page.into_response()));
        }
        GateFuture::passed(self.inner.call(request))
    }
}
