//! TLS at the listener: the server's certificate, and whose client certificates are accepted.

use std::sync::Arc;

use arc_swap::ArcSwap;
use mgp_types::Error;
use parking_lot::Mutex;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::http::tls_material::{certificates, private_key, provider};

/// A handle to the TLS settings of a listener: its certificate, and the authorities of client certificates.
///
/// Clones share the settings. What changes at one of them holds for the connections that open from then on; those that
/// are open live on.
///
/// ```no_run
/// use mgp_transport::http::{ClientCertificates, HttpConfig, TlsConfig};
///
/// # fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let read = |name| std::fs::read(format!("/etc/mgp/{name}"));
/// let tls = TlsConfig::from_pem(&read("tls.crt")?, &read("tls.key")?)?
///     .client_authorities(&read("clients.pem")?, ClientCertificates::Optional)?;
/// let config = HttpConfig::default().tls(tls.clone());
/// // Later, when the files have changed:
/// tls.reload(&read("tls.crt")?, &read("tls.key")?)?;
/// # drop(config);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct TlsConfig {
    shared: Arc<SharedTls>,
}

struct SharedTls {
    parts: Mutex<TlsParts>,
    /// The settings of new connections, made of the parts.
    current: ArcSwap<ServerConfig>,
}

#[derive(Clone)]
struct TlsParts {
    certified: Arc<CertifiedKey>,
    clients: Arc<dyn ClientCertVerifier>,
}

/// The treatment of clients without a certificate, where client certificates are accepted.
///
/// A certificate that no accepted authority has signed is refused in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientCertificates {
    /// A client without a certificate is let in.
    Optional,
    /// A client without a certificate gets no connection.
    Required,
}

/// The name of HTTP/2 in the agreement on TLS.
pub(super) const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

impl TlsConfig {
    /// Creates the settings with the server's certificate, followed by those that lead to its authority, and the private
    /// key, all in PEM.
    ///
    /// # Errors
    /// A certificate or key is not PEM of its kind, or the key is not that of the certificate.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, Error> {
        let parts =
            TlsParts { certified: certified(chain, key)?, clients: WebPkiClientVerifier::no_client_auth() };
        let current = ArcSwap::new(parts.agreed()?);
        Ok(Self { shared: Arc::new(SharedTls { parts: Mutex::new(parts), current }) })
    }

    /// Accepts the client certificates of these authorities (PEM, one or several), in place of those before.
    ///
    /// # Errors
    /// There is no usable certificate of an authority.
    pub fn client_authorities(self, pem: &[u8], clients: ClientCertificates) -> Result<Self, Error> {
        let mut authorities = RootCertStore::empty();
        for authority in certificates(pem, "the authorities of clients")? {
            authorities.add(authority).map_err(|error| {
                let message = "a certificate among the authorities of clients cannot be used";
                Error::invalid_params(message).with_source(error)
            })?;
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), provider());
        let verifier = match clients {
            ClientCertificates::Optional => verifier.allow_unauthenticated(),
            ClientCertificates::Required => verifier,
        };
        let verifier = verifier.build().map_err(|error| {
            Error::invalid_params("the authorities of clients cannot be used").with_source(error)
        })?;
        self.change(|parts| parts.clients = verifier)?;
        Ok(self)
    }

    /// Shows another certificate (PEM, with its chain and its key) to the connections that open from now on.
    ///
    /// # Errors
    /// As [`from_pem`](Self::from_pem); the certificate before stays in use.
    pub fn reload(&self, chain: &[u8], key: &[u8]) -> Result<(), Error> {
        let certified = certified(chain, key)?;
        self.change(|parts| parts.certified = certified)
    }

    fn change(&self, change: impl FnOnce(&mut TlsParts)) -> Result<(), Error> {
        let mut parts = self.shared.parts.lock();
        let mut changed = parts.clone();
        change(&mut changed);
        // Sessions to be resumed are kept with the settings, so none of earlier ones is.
        self.shared.current.store(changed.agreed()?);
        *parts = changed;
        Ok(())
    }

    /// Returns the acceptor of a connection that opens now.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.shared.current.load_full())
    }
}

impl TlsParts {
    fn agreed(&self) -> Result<Arc<ServerConfig>, Error> {
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
            .map_err(|error| Error::internal("TLS is not available").with_source(error))?
            .with_client_cert_verifier(Arc::clone(&self.clients))
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(Arc::clone(&self.certified))));
        config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
        Ok(Arc::new(config))
    }
}

fn certified(chain: &[u8], key: &[u8]) -> Result<Arc<CertifiedKey>, Error> {
    let chain = certificates(chain, "the server's certificate")?;
    let key = private_key(key, "the key of the server's certificate")?;
    let certified = CertifiedKey::from_der(chain, key, &provider()).map_err(|error| {
        let message = "the server's certificate and private key do not belong together, or cannot be used";
        Error::invalid_params(message).with_source(error)
    })?;
    Ok(Arc::new(certified))
}

mgp_types::partial_debug!(TlsConfig);
