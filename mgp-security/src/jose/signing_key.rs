//! Private keys that sign tokens.

use std::sync::Arc;

use jsonwebtoken::jwk::{Jwk, ThumbprintHash};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde::Serialize;

use super::{JoseError, is_asymmetric, ring_provider};

/// A private key that signs tokens by one algorithm. Clones share the key.
#[derive(Clone)]
pub struct SigningKey(Arc<SigningKeyParts>);

struct SigningKeyParts {
    algorithm: Algorithm,
    der: Vec<u8>,
    key: EncodingKey,
    public: Jwk,
    thumbprint: String,
}

impl SigningKey {
    /// Creates a new key for ES256.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn generate() -> Result<Self, JoseError> {
        let der = ring_provider::generate().ok_or(JoseError::NoRandomness)?;
        Self::from_der(der, Algorithm::ES256)
    }

    /// Reads a key in PEM: PKCS#8 (`BEGIN PRIVATE KEY`), or PKCS#1 for RSA (`BEGIN RSA PRIVATE KEY`).
    ///
    /// # Errors
    /// The text is no such key, or the key is none for the algorithm.
    pub fn from_pem(pem: &str, algorithm: Algorithm) -> Result<Self, JoseError> {
        let der = match PrivateKeyDer::from_pem_slice(pem.as_bytes()) {
            Ok(PrivateKeyDer::Pkcs8(der)) => der.secret_pkcs8_der().to_vec(),
            Ok(PrivateKeyDer::Pkcs1(der)) => der.secret_pkcs1_der().to_vec(),
            Ok(_) | Err(_) => return Err(JoseError::Key),
        };
        Self::from_der(der, algorithm)
    }

    /// Reads a key in PKCS#8.
    ///
    /// # Errors
    /// The bytes are no such key, or the key is none for the algorithm.
    pub fn from_pkcs8(der: impl Into<Vec<u8>>, algorithm: Algorithm) -> Result<Self, JoseError> {
        Self::from_der(PrivatePkcs8KeyDer::from(der.into()).secret_pkcs8_der().to_vec(), algorithm)
    }

    fn from_der(der: Vec<u8>, algorithm: Algorithm) -> Result<Self, JoseError> {
        ring_provider::install();
        if !is_asymmetric(algorithm) {
            return Err(JoseError::Algorithm);
        }
        let parameters = ring_provider::public_key(algorithm, &der).ok_or(JoseError::Key)?;
        let key = match algorithm {
            Algorithm::ES256 | Algorithm::ES384 => EncodingKey::from_ec_der(&der),
            Algorithm::EdDSA => EncodingKey::from_ed_der(&der),
            _ => EncodingKey::from_rsa_der(&der),
        };
        let public = Jwk { common: jsonwebtoken::jwk::CommonParameters::default(), algorithm: parameters };
        let thumbprint = public.thumbprint(ThumbprintHash::SHA256).map_err(|_| JoseError::Key)?;
        Ok(Self(Arc::new(SigningKeyParts { algorithm, der, key, public, thumbprint })))
    }

    /// Returns the private key itself, for a store that keeps it.
    pub fn to_der(&self) -> &[u8] {
        &self.0.der
    }

    /// Returns the algorithm by which the key signs.
    pub fn algorithm(&self) -> Algorithm {
        self.0.algorithm
    }

    /// Returns the public key.
    pub fn public_jwk(&self) -> &Jwk {
        &self.0.public
    }

    /// Returns the SHA-256 thumbprint of the public key (RFC 7638), in base64url.
    pub fn thumbprint(&self) -> &str {
        &self.0.thumbprint
    }

    /// Signs claims. The algorithm in `header` is that of the key, whatever it was before.
    ///
    /// # Errors
    /// The claims are no JSON object, or the key cannot sign.
    pub fn sign<C: Serialize>(&self, mut header: Header, claims: &C) -> Result<String, JoseError> {
        header.alg = self.0.algorithm;
        jsonwebtoken::encode(&header, claims, &self.0.key).map_err(|_| JoseError::Unsigned)
    }
}

mgp_types::partial_debug!(SigningKey, self => algorithm: self.0.algorithm, thumbprint: self.0.thumbprint);
