//! The cryptography of tokens, by `ring`.

use std::sync::Once;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::jwk::{
    AlgorithmParameters, EllipticCurve, EllipticCurveKeyParameters, EllipticCurveKeyType,
    OctetKeyPairParameters, OctetKeyPairType, RSAKeyParameters, RSAKeyType, ThumbprintHash,
};
use jsonwebtoken::signature::{self, Signer, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::digest::{SHA256, SHA384, SHA512, digest};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED,
    ECDSA_P384_SHA384_FIXED_SIGNING, ED25519, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair,
    KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384,
    RSA_PSS_2048_8192_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding, RsaKeyPair,
    RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

/// Makes `ring` the cryptography of the process's tokens, unless a program chose another one before.
pub(super) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // Another provider of the same algorithms does as well.
        let _ = PROVIDER.install_default();
    });
}

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |algorithm, key| Ok(Box::new(RingSigner::new(*algorithm, key)?)),
    verifier_factory: |algorithm, key| Ok(Box::new(RingVerifier::new(*algorithm, key)?)),
    key_utils: KeyUtils {
        rsa_pub_components_from_private_key: |_| Err(ErrorKind::UnsupportedAlgorithm.into()),
        rsa_pub_components_from_public_key: |_| Err(ErrorKind::UnsupportedAlgorithm.into()),
        ec_pub_components_from_private_key: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
        ed_pub_components_from_private_key: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
        compute_digest: |data, hash| {
            let algorithm = match hash {
                ThumbprintHash::SHA256 => &SHA256,
                ThumbprintHash::SHA384 => &SHA384,
                ThumbprintHash::SHA512 => &SHA512,
                _ => return Err(ErrorKind::UnsupportedAlgorithm.into()),
            };
            Ok(digest(algorithm, data).as_ref().to_vec())
        },
    },
};

/// Returns the public key of a private one that signs by `algorithm`.
pub(super) fn public_key(algorithm: Algorithm, der: &[u8]) -> Option<AlgorithmParameters> {
    let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    Some(match key_pair(algorithm, der)? {
        RingKeyPair::Ecdsa(pair) => {
            let (x, y) =
                pair.public_key().as_ref().strip_prefix(&[4])?.split_at_checked(match algorithm {
                    Algorithm::ES384 => 48,
                    _ => 32,
                })?;
            let curve = match algorithm {
                Algorithm::ES384 => EllipticCurve::P384,
                _ => EllipticCurve::P256,
            };
            AlgorithmParameters::EllipticCurve(EllipticCurveKeyParameters {
                key_type: EllipticCurveKeyType::EC,
                curve,
                x: text(x),
                y: text(y),
            })
        }
        RingKeyPair::Ed25519(pair) => AlgorithmParameters::OctetKeyPair(OctetKeyPairParameters {
            key_type: OctetKeyPairType::OctetKeyPair,
            curve: EllipticCurve::Ed25519,
            x: text(pair.public_key().as_ref()),
        }),
        RingKeyPair::Rsa(pair, _) => {
            let parts = RsaPublicKeyComponents::<Vec<u8>>::from(pair.public());
            AlgorithmParameters::RSA(RSAKeyParameters {
                key_type: RSAKeyType::RSA,
                n: text(&parts.n),
                e: text(&parts.e),
            })
        }
    })
}

/// Creates a private key for ES256, in PKCS#8.
pub(super) fn generate() -> Option<Vec<u8>> {
    let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).ok()?;
    Some(der.as_ref().to_vec())
}

/// A private key that signs by one algorithm.
struct RingSigner {
    algorithm: Algorithm,
    key: RingKeyPair,
}

enum RingKeyPair {
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(RsaKeyPair, &'static dyn RsaEncoding),
}

impl RingSigner {
    fn new(algorithm: Algorithm, key: &EncodingKey) -> Result<Self, Error> {
        if algorithm.family() != key.family() {
            return Err(ErrorKind::InvalidAlgorithm.into());
        }
        let key = key_pair(algorithm, key.as_bytes()).ok_or(ErrorKind::InvalidKeyFormat)?;
        Ok(Self { algorithm, key })
    }
}

/// Reads a private key in PKCS#8, and one of RSA in PKCS#1 as well.
fn key_pair(algorithm: Algorithm, der: &[u8]) -> Option<RingKeyPair> {
    let ecdsa = |algorithm: &'static EcdsaSigningAlgorithm| {
        EcdsaKeyPair::from_pkcs8(algorithm, der, &SystemRandom::new()).ok().map(RingKeyPair::Ecdsa)
    };
    let rsa = |encoding: &'static dyn RsaEncoding| {
        let pair = RsaKeyPair::from_pkcs8(der).or_else(|_| RsaKeyPair::from_der(der)).ok()?;
        Some(RingKeyPair::Rsa(pair, encoding))
    };
    match algorithm {
        Algorithm::ES256 => ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING),
        Algorithm::ES384 => ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING),
        Algorithm::EdDSA => Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).ok().map(RingKeyPair::Ed25519),
        Algorithm::RS256 => rsa(&RSA_PKCS1_SHA256),
        Algorithm::RS384 => rsa(&RSA_PKCS1_SHA384),
        Algorithm::RS512 => rsa(&RSA_PKCS1_SHA512),
        Algorithm::PS256 => rsa(&RSA_PSS_SHA256),
        Algorithm::PS384 => rsa(&RSA_PSS_SHA384),
        Algorithm::PS512 => rsa(&RSA_PSS_SHA512),
        _ => None,
    }
}

impl Signer<Vec<u8>> for RingSigner {
    fn try_sign(&self, message: &[u8]) -> Result<Vec<u8>, signature::Error> {
        let random = SystemRandom::new();
        match &self.key {
            RingKeyPair::Ecdsa(pair) => Ok(pair.sign(&random, message).map_err(unsigned)?.as_ref().to_vec()),
            RingKeyPair::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            RingKeyPair::Rsa(pair, encoding) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(*encoding, &random, message, &mut signature).map_err(unsigned)?;
                Ok(signature)
            }
        }
    }
}

fn unsigned(_: ring::error::Unspecified) -> signature::Error {
    signature::Error::new()
}

impl JwtSigner for RingSigner {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

/// A public key that verifies by one algorithm.
struct RingVerifier {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl RingVerifier {
    fn new(algorithm: Algorithm, key: &DecodingKey) -> Result<Self, Error> {
        if algorithm.family() != key.family() {
            return Err(ErrorKind::InvalidAlgorithm.into());
        }
        Ok(Self { algorithm, key: key.clone() })
    }
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let verified = match (self.key.kind(), rsa_parameters(self.algorithm)) {
            (DecodingKeyKind::RsaModulusExponent { n, e }, Some(parameters)) => {
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
            (DecodingKeyKind::SecretOrDer(key), _) => match verification(self.algorithm) {
                Some(algorithm) => UnparsedPublicKey::new(algorithm, key).verify(message, signature),
                None => Err(ring::error::Unspecified),
            },
            _ => Err(ring::error::Unspecified),
        };
        verified.map_err(unsigned)
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

fn verification(algorithm: Algorithm) -> Option<&'static dyn VerificationAlgorithm> {
    Some(match algorithm {
        Algorithm::ES256 => &ECDSA_P256_SHA256_FIXED,
        Algorithm::ES384 => &ECDSA_P384_SHA384_FIXED,
        Algorithm::EdDSA => &ED25519,
        other => return rsa_parameters(other).map(|parameters| parameters as _),
    })
}

fn rsa_parameters(algorithm: Algorithm) -> Option<&'static RsaParameters> {
    Some(match algorithm {
        Algorithm::RS256 => &RSA_PKCS1_2048_8192_SHA256,
        Algorithm::RS384 => &RSA_PKCS1_2048_8192_SHA384,
        Algorithm::RS512 => &RSA_PKCS1_2048_8192_SHA512,
        Algorithm::PS256 => &RSA_PSS_2048_8192_SHA256,
        Algorithm::PS384 => &RSA_PSS_2048_8192_SHA384,
        Algorithm::PS512 => &RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}
