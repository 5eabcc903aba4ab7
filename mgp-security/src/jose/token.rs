//! Signed tokens: what their header says, and whether their signature holds.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, Header};
use mgp_types::Object;
use serde::de::DeserializeOwned;

use super::{VerifyingKey, is_asymmetric};

/// The reason why a token or a key cannot be used. It repeats no part of either.
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
    if header.crit.is_some() || header.enc.is_some() || header.zip.is_some() {
        return Err(JoseError::Critical);
    }
    Ok(header)
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
    let mut parts = token.split('.');
    match [(); 4].map(|()| parts.next()) {
        [Some(header), Some(payload), Some(signature), None]
            if [header, payload, signature].iter().all(|part| !part.is_empty()) =>
        {
            Ok((header, payload, signature))
        }
        _ => Err(JoseError::Malformed),
    }
}

/// The longest token.
const MAX_TOKEN_BYTES: usize = 16 << 10;
