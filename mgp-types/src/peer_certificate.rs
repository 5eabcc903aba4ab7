//! The certificate that a client showed on its connection.

use sha2::{Digest, Sha256};

use crate::hex;

/// The certificate of the client at the other end of a connection, by its thumbprint.
///
/// A listener with TLS puts it into the extensions of each HTTP request of a connection whose client proved that it holds the
/// certificate's key. A token that is bound to a certificate (`cnf.x5t#S256`) is accepted only beside the same thumbprint.
///
/// ```
/// use mgp_types::PeerCertificate;
///
/// let certificate = PeerCertificate::from_der(b"the certificate in DER");
/// assert_eq!(certificate.thumbprint().len(), 32);
/// assert_ne!(certificate, PeerCertificate::from_der(b"another one"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PeerCertificate {
    thumbprint: [u8; 32],
}

impl PeerCertificate {
    /// Returns the certificate whose DER encoding is `der`.
    pub fn from_der(der: &[u8]) -> Self {
        Self { thumbprint: Sha256::digest(der).into() }
    }

    /// Returns the SHA-256 digest of the certificate's DER encoding.
    pub const fn thumbprint(&self) -> &[u8; 32] {
        &self.thumbprint
    }
}

crate::partial_debug!(PeerCertificate, self =>
    thumbprint: std::str::from_utf8(&hex::<64>(&self.thumbprint)).unwrap_or_default(),
);
