//! Proofs that the sender of a request holds a key (DPoP, RFC 9449).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{Method, Uri};
use jsonwebtoken::{Algorithm, Header};
use mgp_types::mgp::Timestamp;
use mgp_types::random_name;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{JoseError, SigningKey, VerifyingKey, header, is_asymmetric};

/// A proof whose signature, request and token fit. Whether it is fresh, and was not sent before, is for the verifier to
/// judge.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedProof {
    /// The thumbprint of the key, to which a token is bound as `cnf.jkt`.
    pub thumbprint: Box<str>,
    /// The id of the proof, which no other proof of the key has.
    pub id: Box<str>,
    /// The nonce that the verifier gave.
    pub nonce: Option<Box<str>>,
    /// The time at which the proof was made.
    pub issued_at: Timestamp,
}

#[derive(Serialize, Deserialize)]
struct ProofClaims {
    jti: Box<str>,
    htm: Box<str>,
    htu: Box<str>,
    iat: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ath: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nonce: Option<Box<str>>,
}

/// Makes the proof for one request: for a request to a protected server with the token that it carries, for one to a token
/// endpoint with none.
///
/// # Errors
/// The key cannot sign.
pub fn proof(
    key: &SigningKey,
    method: &Method,
    url: &Uri,
    access_token: Option<&str>,
    nonce: Option<&str>,
) -> Result<String, JoseError> {
    let mut header = Header::new(key.algorithm());
    header.typ = Some(TYPE.to_owned());
    header.jwk = Some(key.public_jwk().clone());
    let claims = ProofClaims {
        jti: random_name().into(),
        htm: method.as_str().into(),
        htu: target(url).ok_or(JoseError::Unsigned)?,
        iat: Timestamp::now().as_millis().div_euclid(1000),
        ath: access_token.map(token_digest),
        nonce: nonce.map(Into::into),
    };
    key.sign(header, &claims)
}

/// Verifies a proof against the request that it came with. `access_token` is the token of the request; a token endpoint
/// has none.
///
/// # Errors
/// The proof is malformed, or made for another request or another token.
pub fn verify(
    proof: &str,
    method: &Method,
    url: &Uri,
    access_token: Option<&str>,
) -> Result<VerifiedProof, JoseError> {
    let header = header(proof)?;
    let is_proof = header.typ.as_deref().is_some_and(|name| name.eq_ignore_ascii_case(TYPE));
    let jwk = header.jwk.filter(|_| is_proof && is_asymmetric(header.alg)).ok_or(JoseError::ProofType)?;
    let key = VerifyingKey::from_jwk(&jwk)?;
    let claims: ProofClaims = super::verify(proof, &key, header.alg)?;
    let named: Uri = claims.htu.parse().map_err(|_| JoseError::ProofRequest)?;
    let is_same = target(&named).is_some_and(|named| Some(named) == target(url));
    if &*claims.htm != method.as_str() || !is_same {
        return Err(JoseError::ProofRequest);
    }
    if claims.ath != access_token.map(token_digest) {
        return Err(JoseError::ProofToken);
    }
    if claims.jti.is_empty() || claims.jti.len() > MAX_ID_BYTES {
        return Err(JoseError::ProofType);
    }
    Ok(VerifiedProof {
        thumbprint: key.thumbprint().into(),
        id: claims.jti,
        nonce: claims.nonce,
        issued_at: Timestamp::from_millis(claims.iat.saturating_mul(1000)).ok_or(JoseError::ProofType)?,
    })
}

/// Returns the names of the algorithms in which proofs may be signed, as a challenge lists them.
pub const fn algorithms() -> &'static [Algorithm] {
    &[Algorithm::ES256, Algorithm::ES384, Algorithm::EdDSA, Algorithm::RS256, Algorithm::PS256]
}

/// Returns a URL as proofs name it: without query, with the scheme and host in lower case, and without a default port.
fn target(url: &Uri) -> Option<Box<str>> {
    let (scheme, host) = (url.scheme_str()?.to_ascii_lowercase(), url.host()?.to_ascii_lowercase());
    let port = match (url.port_u16(), &*scheme) {
        (None, _) | (Some(443), "https") | (Some(80), "http") => String::new(),
        (Some(port), _) => format!(":{port}"),
    };
    let path = if url.path().is_empty() { "/" } else { url.path() };
    Some(format!("{scheme}://{host}{port}{path}").into())
}

/// Returns the digest of a token that a proof carries (`ath`).
fn token_digest(token: &str) -> Box<str> {
    URL_SAFE_NO_PAD.encode(Sha256::digest(token)).into()
}

/// The type of proofs.
const TYPE: &str = "dpop+jwt";
/// The longest id of a proof.
const MAX_ID_BYTES: usize = 256;
