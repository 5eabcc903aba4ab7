//! What both sides make TLS of: certificates and keys in PEM, and the cryptography.

use std::sync::Arc;

use mgp_types::Error;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Returns the provider by its name, because the default of the process panics where a program has two built in.
pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Reads one or several certificates in PEM.
pub(super) fn certificates(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    // The error of the reader quotes the text, which may be a key by mistake.
    let read =
        read.map_err(|_| Error::invalid_params(format!("{what}: the text is no PEM of certificates")))?;
    if read.is_empty() {
        return Err(Error::invalid_params(format!("{what}: there is no certificate in the PEM text")));
    }
    Ok(read)
}

/// Reads a private key in PEM.
pub(super) fn private_key(pem: &[u8], what: &str) -> Result<PrivateKeyDer<'static>, Error> {
    PrivateKeyDer::from_pem_slice(pem).map_err(|_| {
        Error::invalid_params(format!("{what}: the text is no PEM of an unencrypted private key"))
    })
}
