//! The requests for data: to addresses that were judged, without redirects, proxies and credentials.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ETAG, RANGE};
use http::{Request, Uri};
use http_body_util::{BodyExt as _, Empty};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use mgp_security::reference::{FetchedData, ReferenceSource};
use mgp_types::{BoxFuture, Error, code};
use rustls::RootCertStore;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_service::Service;

/// A source that sends requests over HTTP, and trusts the certificates that browsers trust.
pub(super) struct HttpSource {
    tls: rustls::ClientConfig,
}

impl HttpSource {
    pub(super) fn new() -> Result<Self, Error> {
        let trusted = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        // The provider is named, because the default of the process panics where a program has built in two.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::internal("TLS is not available").with_source(error))?
            .with_root_certificates(trusted)
            .with_no_client_auth();
        Ok(Self { tls })
    }

    async fn send(&self, url: &str, addresses: &[SocketAddr], from: u64) -> Result<FetchedData, Error> {
        let unreachable = || {
            Error::new(
                code::UPSTREAM_UNAVAILABLE,
                "the server of the data cannot be reached; try again later",
            )
        };
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(self.tls.clone())
            .https_or_http()
            .enable_http1()
            .wrap_connector(JudgedAddresses(addresses.into()));
        // A client of its own for each request: no connection is used again for another name.
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let mut request = Request::get(url).header("user-agent", "mgp").header("accept-encoding", "identity");
        if from > 0 {
            request = request.header(RANGE, format!("bytes={from}-"));
        }
        let request = request.body(Empty::<Bytes>::new()).map_err(|_| unreachable())?;
        let answer = match timeout(PATIENCE, client.request(request)).await {
            Ok(answer) => answer.map_err(|_| unreachable())?,
            Err(_) => return Err(late()),
        };
        let (head, body) = answer.into_parts();
        let cut = |_: hyper::Error| Error::new(code::UPSTREAM_ERROR, "the data was cut off; try again");
        let data = FetchedData::new(head.status.as_u16(), body.map_err(cut).into_data_stream());
        let etag = head.headers.get(ETAG).and_then(|etag| etag.to_str().ok());
        Ok(match etag {
            Some(etag) => data.with_etag(etag),
            None => data,
        })
    }
}

impl ReferenceSource for HttpSource {
    fn get<'a>(
        &'a self,
        url: &'a str,
        addresses: &'a [SocketAddr],
        from: u64,
    ) -> BoxFuture<'a, Result<FetchedData, Error>> {
        Box::pin(self.send(url, addresses, from))
    }
}

fn late() -> Error {
    Error::new(code::UPSTREAM_TIMEOUT, "the server of the data did not answer in time; try again later")
}

/// A connector to addresses that are known already, whatever name the request has.
#[derive(Clone)]
struct JudgedAddresses(Arc<[SocketAddr]>);

impl Service<Uri> for JudgedAddresses {
    type Response = TokioIo<TcpStream>;
    type Error = std::io::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let addresses = Arc::clone(&self.0);
        Box::pin(async move { Ok(TokioIo::new(TcpStream::connect(&*addresses).await?)) })
    }
}

mgp_types::partial_debug!(HttpSource);

/// The time in which a server has to answer.
const PATIENCE: Duration = Duration::from_secs(30);
