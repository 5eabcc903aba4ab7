//! HTTP requests to addresses that were judged before.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use mgp_types::{BoxFuture, Error};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use tokio::net::TcpStream;
use tower_service::Service;

/// A client of HTTP that connects to given addresses and to no other, follows no redirect and uses no proxy. It trusts
/// the certificates that browsers trust, and those that were added.
#[derive(Clone)]
pub struct JudgedHttp {
    trusted: Arc<RootCertStore>,
    tls: Arc<rustls::ClientConfig>,
}

/// The reason why a request to judged addresses has no answer.
#[derive(Debug, thiserror::Error)]
#[error("the host cannot be reached, or ended the connection")]
pub struct NoAnswer(#[source] hyper_util::client::legacy::Error);

impl JudgedHttp {
    /// Creates the client.
    ///
    /// # Errors
    /// TLS is not available.
    pub fn new() -> Result<Self, Error> {
        Self::trusting(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() })
    }

    /// Trusts these certificates (PEM) as well, like those of a company's own authority.
    ///
    /// # Errors
    /// The text is no PEM, or has no certificate that can be used.
    pub fn trust_pem(self, pem: &[u8]) -> Result<Self, Error> {
        let mut trusted = Arc::unwrap_or_clone(self.trusted);
        let before = trusted.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate
                .map_err(|error| Error::invalid_params("a root certificate is no PEM").with_source(error))?;
            trusted.add(certificate).map_err(|error| {
                Error::invalid_params("a root certificate cannot be used").with_source(error)
            })?;
        }
        if trusted.len() == before {
            return Err(Error::invalid_params("there is no certificate among the root certificates"));
        }
        Self::trusting(trusted)
    }

    fn trusting(trusted: RootCertStore) -> Result<Self, Error> {
        let trusted = Arc::new(trusted);
        // The provider is named, because the default of the process panics where a program has built in two.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::internal("TLS is not available").with_source(error))?
            .with_root_certificates(Arc::clone(&trusted))
            .with_no_client_auth();
        Ok(Self { trusted, tls: Arc::new(tls) })
    }

    /// Sends a request to one of `addresses`, whatever address the name in its URL has, and returns the answer's head and
    /// the body that is still to be read.
    ///
    /// # Errors
    /// No address can be connected to, or none answers.
    pub async fn send(
        &self,
        request: Request<Full<Bytes>>,
        addresses: &[SocketAddr],
    ) -> Result<Response<Incoming>, NoAnswer> {
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config((*self.tls).clone())
            .https_or_http()
            .enable_http1()
            .wrap_connector(JudgedAddresses(addresses.into()));
        // A client of its own for each request: no connection is used again for another name.
        Client::builder(TokioExecutor::new()).build(connector).request(request).await.map_err(NoAnswer)
    }
}

mgp_types::partial_debug!(JudgedHttp);

/// A connector to addresses that are known already, whatever name the request has.
#[derive(Clone)]
struct JudgedAddresses(Arc<[SocketAddr]>);

impl Service<Uri> for JudgedAddresses {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let addresses = Arc::clone(&self.0);
        Box::pin(async move { Ok(TokioIo::new(TcpStream::connect(&*addresses).await?)) })
    }
}
