//! The way to a host: directly, or through the proxy that the environment names.

use std::task::{Context, Poll};

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use mgp_types::BoxFuture;
use std::sync::Arc;
use tokio::net::TcpStream;
use tower_service::Service;

/// Connects to hosts directly or through proxies.
#[derive(Clone)]
pub(super) struct Route {
    proxies: Arc<Matcher>,
    tcp: HttpConnector,
}

impl Route {
    pub(super) fn new(proxies: Matcher) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        Self { proxies: Arc::new(proxies), tcp }
    }
}

impl Service<Uri> for Route {
    type Response = TokioIo<TcpStream>;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, host: Uri) -> Self::Future {
        // The connector that is ready is used, and a fresh one is left.
        let mut tcp = self.tcp.clone();
        std::mem::swap(&mut tcp, &mut self.tcp);
        let Some(proxy) = self.proxies.intercept(&host) else {
            return Box::pin(async move { Ok(tcp.call(host).await?) });
        };
        if proxy.uri().scheme_str() != Some("http") {
            let why = "proxies are spoken to by HTTP: write `http://` before the address of HTTPS_PROXY";
            return Box::pin(async move { Err(why.into()) });
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), tcp);
        if let Some(authorization) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(authorization.clone());
        }
        Box::pin(async move { Ok(tunnel.call(host).await?) })
    }
}
