//! Private keys that sign tokens.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{
    AlgorithmParameters, CommonParameters, EllipticCurve, EllipticCurveKeyParameters, EllipticCurveKeyType,
    Jwk, OctetKeyPairParameters, OctetKeyPairType, RSAKeyParameters, RSAKeyType,
};
use jsonwebtoken::{Algorithm, Header};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
    Ed25519KeyPair, KeyPair as _, RsaEncoding, RsaKeyPair, RsaPublicKeyComponents,
};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject as _;
use serde::Serialize;

use super::key_set::{UNCOMPRESSED, rsa};
use super::{JoseError, VerifyingKey, is_asymmetric};

/// A private key that signs tokens by one algorithm. Clones share the key.
#[derive(Clone)]
pub struct SigningKey(Arc<SigningKeyParts>);

struct SigningKeyParts {
    algorithm: Algorithm,
    der: Vec<u8>,
    pair: KeyPair,
    public: Jwk,
    thumbprint: Box<str>,
}

enum KeyPair {
    Ecdsa(EllipticCurve, EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(RsaKeyPair, &'static dyn RsaEncoding),
}

impl SigningKey {
    /// Creates a new key for ES256.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn generate() -> Result<Self, JoseError> {
        let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        Self::from_pkcs8(der.map_err(|_| JoseError::NoRandomness)?.as_ref(), Algorithm::ES256)
    }

    /// Reads a key in PEM: PKCS#8 (`BEGIN PRIVATE KEY`), or PKCS#1 for RSA (`BEGIN RSA PRIVATE KEY`).
    ///
    /// # Errors
    /// The text is no such key, or the key is none for the algorithm.
    pub fn from_pem(pem: &str, algorithm: Algorithm) -> Result<Self, JoseError> {
        match PrivateKeyDer::from_pem_slice(pem.as_bytes()) {
            Ok(PrivateKeyDer::Pkcs8(der)) => Self::from_pkcs8(der.secret_pkcs8_der(), algorithm),
            Ok(PrivateKeyDer::Pkcs1(der)) => Self::from_pkcs8(der.secret_pkcs1_der(), algorithm),
            Ok(_) | Err(_) => Err(JoseError::Key),
        }
    }

    /// Reads a key in PKCS#8, and one of RSA in PKCS#1 as well.
    ///
    /// # Errors
    /// The bytes are no such key, or the key is none for the algorithm.
    pub fn from_pkcs8(der: impl Into<Vec<u8>>, algorithm: Algorithm) -> Result<Self, JoseError> {
        if !is_asymmetric(algorithm) {
            return Err(JoseError::Algorithm);
        }
        let der = der.into();
        let pair = KeyPair::read(algorithm, &der).ok_or(JoseError::Key)?;
        let parameters = pair.public().ok_or(JoseError::Key)?;
        let public = Jwk { common: CommonParameters::default(), algorithm: parameters };
        let thumbprint = VerifyingKey::from_jwk(&public)?.thumbprint().into();
        Ok(Self(Arc::new(SigningKeyParts { algorithm, der, pair, public, thumbprint })))
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
        let signed = format!("{}.{}", encoded(&header)?, encoded(claims)?);
        let signature = self.0.pair.sign(signed.as_bytes()).map_err(|_| JoseError::Unsigned)?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

mgp_types::partial_debug!(SigningKey, self => algorithm: self.0.algorithm, thumbprint: self.0.thumbprint);

impl KeyPair {
    fn read(algorithm: Algorithm, der: &[u8]) -> Option<Self> {
        let ecdsa = |curve, signing: &'static EcdsaSigningAlgorithm| {
            let pair = EcdsaKeyPair::from_pkcs8(signing, der, &SystemRandom::new()).ok()?;
            Some(Self::Ecdsa(curve, pair))
        };
        match algorithm {
            Algorithm::ES256 => ecdsa(EllipticCurve::P256, &ECDSA_P256_SHA256_FIXED_SIGNING),
            Algorithm::ES384 => ecdsa(EllipticCurve::P384, &ECDSA_P384_SHA384_FIXED_SIGNING),
            Algorithm::EdDSA => Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).ok().map(Self::Ed25519),
            _ => {
                let (_, encoding) = rsa(algorithm)?;
                let pair = RsaKeyPair::from_pkcs8(der).or_else(|_| RsaKeyPair::from_der(der)).ok()?;
                Some(Self::Rsa(pair, encoding))
            }
        }
    }

    fn public(&self) -> Option<AlgorithmParameters> {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        Some(match self {
            Self::Ecdsa(curve, pair) => {
                let point = pair.public_key().as_ref().strip_prefix(&[UNCOMPRESSED])?;
                let (x, y) = point.split_at(point.len() / 2);
                AlgorithmParameters::EllipticCurve(EllipticCurveKeyParameters {
                    key_type: EllipticCurveKeyType::EC,
                    curve: curve.clone(),
                    x: text(x),
                    y: text(y),
                })
            }
            Self::Ed25519(pair) => AlgorithmParameters::OctetKeyPair(OctetKeyPairParameters {
                key_type: OctetKeyPairType::OctetKeyPair,
                curve: EllipticCurve::Ed25519,
                x: text(pair.public_key().as_ref()),
            }),
            Self::Rsa(pair, _) => {
                let parts = RsaPublicKeyComponents::<Vec<u8>>::from(pair.public());
                AlgorithmParameters::RSA(RSAKeyParameters {
                    key_type: RSAKeyType::RSA,
                    n: text(&parts.n),
                    e: text(&parts.e),
                })
            }
        })
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, ring::error::Unspecified> {
        let random = SystemRandom::new();
        match self {
            Self::Ecdsa(_, pair) => Ok(pair.sign(&random, message)?.as_ref().to_vec()),
            Self::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            Self::Rsa(pair, encoding) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(*encoding, &random, message, &mut signature)?;
                Ok(signature)
            }
        }
    }
}

fn encoded<T: Serialize>(part: &T) -> Result<String, JoseError> {
    serde_json::to_vec(part).map(|json| URL_SAFE_NO_PAD.encode(json)).map_err(|_| JoseError::Unsigned)
}
