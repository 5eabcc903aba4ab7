//! Public keys, and the sets of them that issuers publish.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, Header};
use mgp_types::{Object, RawJson};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384,
    RSA_PKCS1_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512,
    RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use super::is_asymmetric;

/// A public key that verifies the signatures of tokens.
#[derive(Clone)]
pub struct VerifyingKey {
    id: Option<Box<str>>,
    /// The one algorithm that its issuer names; `None` if it names none.
    only: Option<Algorithm>,
    key: PublicKey,
    thumbprint: Box<str>,
}

#[derive(Clone)]
enum PublicKey {
    /// A point of a curve. One algorithm alone signs with the private key.
    Point(Algorithm, UnparsedPublicKey<Vec<u8>>),
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
}

impl VerifyingKey {
    /// Reads a public key.
    ///
    /// # Errors
    /// The key is malformed, has a private or symmetric kind, a weak size, or another purpose than signatures.
    pub fn from_jwk(jwk: &Jwk) -> Result<Self, JoseError> {
        let uses = jwk.common.key_operations.as_ref();
        let is_for_signatures = matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature))
            && uses.is_none_or(|uses| uses.contains(&KeyOperations::Verify));
        let read = PublicKey::read(&jwk.algorithm).filter(|_| is_for_signatures);
        let (key, members) = read.ok_or(JoseError::Key)?;
        let only =
            jwk.common.key_algorithm.map(Algorithm::try_from).transpose().map_err(|_| JoseError::Key)?;
        if only.is_some_and(|only| !key.serves(only)) {
            return Err(JoseError::Key);
        }
        let thumbprint = URL_SAFE_NO_PAD.encode(Sha256::digest(members)).into();
        Ok(Self { id: jwk.common.key_id.as_deref().map(Into::into), only, key, thumbprint })
    }

    /// Returns the id that the issuer gave the key.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Returns the SHA-256 thumbprint of the key (RFC 7638), in base64url.
    pub fn thumbprint(&self) -> &str {
        &self.thumbprint
    }

    /// Returns whether the key verifies signatures of this algorithm.
    pub fn serves(&self, algorithm: Algorithm) -> bool {
        self.only.is_none_or(|only| only == algorithm) && self.key.serves(algorithm)
    }

    /// Returns whether `signature` is that of `message`, by an algorithm that the key serves.
    pub(super) fn has_signed(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        match &self.key {
            PublicKey::Point(own, key) => *own == algorithm && key.verify(message, signature).is_ok(),
            PublicKey::Rsa(key) => rsa(algorithm)
                .is_some_and(|(parameters, _)| key.verify(parameters, message, signature).is_ok()),
        }
    }
}

mgp_types::partial_debug!(VerifyingKey, self => id: self.id, thumbprint: self.thumbprint);

impl PublicKey {
    /// Reads a key, and writes the members from which its thumbprint is made.
    fn read(parameters: &AlgorithmParameters) -> Option<(Self, String)> {
        let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).ok();
        Some(match parameters {
            AlgorithmParameters::EllipticCurve(key) => {
                let (algorithm, way, curve): (_, &dyn VerificationAlgorithm, _) = match key.curve {
                    EllipticCurve::P256 => (Algorithm::ES256, &ECDSA_P256_SHA256_FIXED, "P-256"),
                    EllipticCurve::P384 => (Algorithm::ES384, &ECDSA_P384_SHA384_FIXED, "P-384"),
                    _ => return None,
                };
                let point = [&[UNCOMPRESSED], &*bytes(&key.x)?, &*bytes(&key.y)?].concat();
                let members = format!(r#"{{"crv":"{curve}","kty":"EC","x":"{}","y":"{}"}}"#, key.x, key.y);
                (Self::Point(algorithm, UnparsedPublicKey::new(way, point)), members)
            }
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
                let members = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, key.x);
                (Self::Point(Algorithm::EdDSA, UnparsedPublicKey::new(&ED25519, bytes(&key.x)?)), members)
            }
            AlgorithmParameters::RSA(key) => {
                let members = format!(r#"{{"e":"{}","kty":"RSA","n":"{}"}}"#, key.e, key.n);
                (Self::Rsa(RsaPublicKeyComponents { n: bytes(&key.n)?, e: bytes(&key.e)? }), members)
            }
            _ => return None,
        })
    }

    fn serves(&self, algorithm: Algorithm) -> bool {
        match self {
            Self::Point(own, _) => *own == algorithm,
            Self::Rsa(_) => rsa(algorithm).is_some(),
        }
    }
}

/// Returns the ways in which an algorithm of RSA verifies and signs.
pub(super) fn rsa(algorithm: Algorithm) -> Option<(&'static RsaParameters, &'static dyn RsaEncoding)> {
    let (parameters, encoding): (&RsaParameters, &dyn RsaEncoding) = match algorithm {
        Algorithm::RS256 => (&RSA_PKCS1_2048_8192_SHA256, &RSA_PKCS1_SHA256),
        Algorithm::RS384 => (&RSA_PKCS1_2048_8192_SHA384, &RSA_PKCS1_SHA384),
        Algorithm::RS512 => (&RSA_PKCS1_2048_8192_SHA512, &RSA_PKCS1_SHA512),
        Algorithm::PS256 => (&RSA_PSS_2048_8192_SHA256, &RSA_PSS_SHA256),
        Algorithm::PS384 => (&RSA_PSS_2048_8192_SHA384, &RSA_PSS_SHA384),
        Algorithm::PS512 => (&RSA_PSS_2048_8192_SHA512, &RSA_PSS_SHA512),
        _ => return None,
    };
    Some((parameters, encoding))
}

/// The public keys that an issuer publishes (a JWK Set).
#[derive(Debug, Clone, Default)]
pub struct KeySet {
    keys: Vec<VerifyingKey>,
}

impl KeySet {
    /// Reads a set of keys. Keys that cannot verify signatures are left out, as an issuer may publish keys for other
    /// purposes beside them.
    ///
    /// # Errors
    /// The text is no set of keys, or has too many.
    pub fn read(json: &[u8]) -> Result<Self, JoseError> {
        let object = Object::parse(Bytes::copy_from_slice(json)).map_err(|_| JoseError::KeySet)?;
        let keys = object.get("keys").and_then(|keys| keys.to::<Vec<RawJson>>().ok());
        let keys = keys.filter(|keys| keys.len() <= MAX_KEYS).ok_or(JoseError::KeySet)?;
        let usable = |key: &RawJson| VerifyingKey::from_jwk(&key.to().ok()?).ok();
        Ok(Self { keys: keys.iter().filter_map(usable).collect() })
    }

    /// Returns the keys that a token with this header may be signed by: the one with the id that it names, or all for its
    /// algorithm if it names none.
    pub fn find(&self, id: Option<&str>, algorithm: Algorithm) -> impl Iterator<Item = &VerifyingKey> {
        self.keys.iter().filter(move |key| key.serves(algorithm) && id.is_none_or(|id| key.id() == Some(id)))
    }

    /// Returns whether the keys of another set are the same ones, under the same ids.
    pub fn has_keys_of(&self, other: &Self) -> bool {
        let has = |set: &Self, key: &VerifyingKey| {
            set.keys.iter().any(|own| own.thumbprint == key.thumbprint && own.id == key.id)
        };
        self.keys.len() == other.keys.len() && other.keys.iter().all(|key| has(self, key))
    }

    /// Returns whether there is no key that verifies signatures.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

/// The reason why a token, a proof or a key cannot be used. It repeats no part of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JoseError {
    /// The text is no signed token of three parts, or its JSON is malformed.
    #[error("the token is malformed")]
    Malformed,
    /// The token is longer than tokens may be.
    #[error("the token is too long")]
    TooLong,
    /// The token names another algorithm than the expected one, or one that is never accepted.
    #[error("the token is signed by an algorithm that is not accepted")]
    Algorithm,
    /// The token demands an extension that is not known.
    #[error("the token needs an extension that is not known")]
    Critical,
    /// The signature is not by the key.
    #[error("the signature of the token is wrong")]
    Signature,
    /// The key is malformed, or none for the algorithm.
    #[error("the key cannot be used: it has to be in PKCS#8, and of the kind that the algorithm needs")]
    Key,
    /// The set of keys is malformed, or has too many keys.
    #[error("the set of keys is malformed, or has too many keys")]
    KeySet,
    /// The claims could not be signed.
    #[error("the claims cannot be signed")]
    Unsigned,
    /// The system has no random numbers.
    #[error("the system has no random numbers")]
    NoRandomness,
    /// The proof is not one by its type, or names no public key.
    #[error("the DPoP proof must have the type `dpop+jwt` and a public key")]
    ProofType,
    /// The proof was made for another method or another URL.
    #[error("the DPoP proof is for another request")]
    ProofRequest,
    /// The proof was made for another token, or for none.
    #[error("the DPoP proof is for another token")]
    ProofToken,
}

/// Returns the header of a token, which nothing proves.
///
/// # Errors
/// The token is malformed or too long, is signed by no asymmetric algorithm, or needs an extension.
pub fn header(token: &str) -> Result<Header, JoseError> {
    if token.len() > MAX_TOKEN_BYTES {
        return Err(JoseError::TooLong);
    }
    // An unknown algorithm, `none` among them, is no algorithm here.
    let (header, ..) = parts(token)?;
    let header: Header = read_object(decoded(header)?)?;
    if !is_asymmetric(header.alg) {
        return Err(JoseError::Algorithm);
    }
    let is_extended = header.crit.is_some() || header.enc.is_some() || header.zip.is_some();
    if is_extended { Err(JoseError::Critical) } else { Ok(header) }
}

/// Returns the claims of a token whose signature is by `key` and `algorithm`. The claims themselves are not judged.
///
/// # Errors
/// As [`header`]; the signature is wrong, or the claims have another form.
pub fn verify<C: DeserializeOwned>(
    token: &str,
    key: &VerifyingKey,
    algorithm: Algorithm,
) -> Result<C, JoseError> {
    if header(token)?.alg != algorithm || !key.serves(algorithm) {
        return Err(JoseError::Algorithm);
    }
    let (_, payload, signature) = parts(token)?;
    let signed = &token[..token.len() - signature.len() - 1];
    if !key.has_signed(algorithm, signed.as_bytes(), &decoded(signature)?) {
        return Err(JoseError::Signature);
    }
    read_object(decoded(payload)?)
}

fn decoded(part: &str) -> Result<Vec<u8>, JoseError> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| JoseError::Malformed)
}

/// Reads an object without repeated members, which each reader would read as it likes.
fn read_object<T: DeserializeOwned>(json: Vec<u8>) -> Result<T, JoseError> {
    Object::parse(json).ok().and_then(|object| object.to().ok()).ok_or(JoseError::Malformed)
}

/// Returns the header, the payload and the signature of a token.
fn parts(token: &str) -> Result<(&str, &str, &str), JoseError> {
    let (signed, signature) = token.rsplit_once('.').ok_or(JoseError::Malformed)?;
    let (header, payload) = signed.split_once('.').ok_or(JoseError::Malformed)?;
    let is_malformed = payload.contains('.') || [header, payload, signature].contains(&"");
    if is_malformed { Err(JoseError::Malformed) } else { Ok((header, payload, signature)) }
}

/// The longest token.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// The byte before a point of a curve that is written whole.
pub(super) const UNCOMPRESSED: u8 = 4;

/// The largest number of keys of one issuer.
const MAX_KEYS: usize = 100;
