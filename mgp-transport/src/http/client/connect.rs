//! Opening connections: TCP, TLS, or the dialler of the caller.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use hyper::rt::{Read, Write};
use hyper_util::client::legacy::connect::HttpConnector;
use mgp_types::{BoxFuture, Error};
use tower_service::Service;

#[cfg(feature = "tls")]
use crate::http::tls_material::{certificates, private_key, provider};

#[cfg(feature = "tls")]
type Network = hyper_rustls::HttpsConnector<HttpConnector>;
#[cfg(not(feature = "tls"))]
type Network = HttpConnector;

/// The certificates and keys of a client's TLS besides the certificates of the public authorities.
#[derive(Clone, Default)]
pub(super) struct ClientTls {
    /// Further trusted certificates in PEM.
    #[cfg(feature = "tls")]
    pub(super) root_certificates_pem: Vec<Vec<u8>>,
    /// The client's own certificate with its chain, and its key, in PEM.
    #[cfg(feature = "tls")]
    pub(super) client_certificate_pem: Option<(Vec<u8>, Vec<u8>)>,
}

/// The function that opens a connection to the server of a URL.
pub(super) type Dial = Arc<dyn Fn(Uri) -> BoxFuture<'static, io::Result<ClientIo>> + Send + Sync>;

/// Returns the function that opens connections by TCP, and by TLS where the URL says so.
pub(super) fn dial_network(tls: ClientTls) -> Result<Dial, Error> {
    let network = network(tls)?;
    Ok(Arc::new(move |url| {
        let mut network = network.clone();
        Box::pin(async move {
            poll_fn(|cx| network.poll_ready(cx)).await.map_err(io::Error::other)?;
            Ok(Box::new(network.call(url).await.map_err(io::Error::other)?) as ClientIo)
        })
    }))
}

#[cfg(not(feature = "tls"))]
#[expect(clippy::unnecessary_wraps, reason = "only TLS can be missing")]
fn network(_: ClientTls) -> Result<Network, Error> {
    Ok(tcp())
}

#[cfg(feature = "tls")]
fn network(settings: ClientTls) -> Result<Network, Error> {
    let mut tcp = tcp();
    tcp.enforce_http(false);
    let mut trusted = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for pem in &settings.root_certificates_pem {
        for certificate in certificates(pem, "the root certificates")? {
            trusted.add(certificate).map_err(|error| {
                Error::invalid_params("a root certificate cannot be used").with_source(error)
            })?;
        }
    }
    let tls = rustls::ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::internal("TLS is not available").with_source(error))?
        .with_root_certificates(trusted);
    let tls = match settings.client_certificate_pem {
        None => tls.with_no_client_auth(),
        Some((chain, key)) => {
            let chain = certificates(&chain, "the client's certificate")?;
            let key = private_key(&key, "the key of the client's certificate")?;
            tls.with_client_auth_cert(chain, key).map_err(|error| {
                let message =
                    "the client's certificate and private key do not belong together, or cannot be used";
                Error::invalid_params(message).with_source(error)
            })?
        }
    };
    let builder = hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(tls);
    Ok(builder.https_or_http().enable_http1().wrap_connector(tcp))
}

fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    // A stream may be silent for hours; a peer that vanished must be noticed.
    tcp.set_keepalive(Some(Duration::from_mins(1)));
    tcp
}

/// A connection of any kind. The connection is boxed once, and many requests share it.
pub(super) type ClientIo = Box<dyn HttpStream>;

pub(super) trait HttpStream: Read + Write + Unpin + Send {}

impl<T: Read + Write + Unpin + Send> HttpStream for T {}
