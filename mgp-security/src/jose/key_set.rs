//! Public keys, and the sets of them that issuers publish.

use bytes::Bytes;
use jsonwebtoken::jwk::{
    AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse, ThumbprintHash,
};
use jsonwebtoken::{Algorithm, DecodingKey};
use mgp_types::Object;

use super::{JoseError, ring_provider};

/// A public key that verifies the signatures of tokens.
#[derive(Clone)]
pub struct VerifyingKey {
    id: Option<Box<str>>,
    algorithms: &'static [Algorithm],
    /// The one algorithm that its issuer names; `None` if it names none.
    only: Option<Algorithm>,
    key: DecodingKey,
    thumbprint: Box<str>,
}

impl VerifyingKey {
    /// Reads a public key.
    ///
    /// # Errors
    /// The key is malformed, has a private or symmetric kind, a weak size, or another purpose than signatures.
    pub fn from_jwk(jwk: &Jwk) -> Result<Self, JoseError> {
        ring_provider::install();
        let is_for_signatures = match (&jwk.common.public_key_use, &jwk.common.key_operations) {
            (Some(PublicKeyUse::Signature) | None, None) => true,
            (Some(PublicKeyUse::Signature) | None, Some(uses)) => uses.contains(&KeyOperations::Verify),
            _ => false,
        };
        let algorithms = algorithms(&jwk.algorithm).filter(|_| is_for_signatures).ok_or(JoseError::Key)?;
        let only = match jwk.common.key_algorithm {
            None => None,
            Some(named) => {
                let named = Algorithm::try_from(named).map_err(|_| JoseError::Key)?;
                Some(named).filter(|named| algorithms.contains(named)).map(Some).ok_or(JoseError::Key)?
            }
        };
        let key = DecodingKey::from_jwk(jwk).map_err(|_| JoseError::Key)?;
        let thumbprint = jwk.thumbprint(ThumbprintHash::SHA256).map_err(|_| JoseError::Key)?.into();
        let id = jwk.common.key_id.as_deref().map(Into::into);
        Ok(Self { id, algorithms, only, key, thumbprint })
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
        self.only.is_none_or(|only| only == algorithm) && self.algorithms.contains(&algorithm)
    }

    pub(super) fn decoding_key(&self) -> &DecodingKey {
        &self.key
    }
}

mgp_types::partial_debug!(VerifyingKey, self => id: self.id, thumbprint: self.thumbprint);

/// Returns the algorithms whose signatures keys of this kind verify.
fn algorithms(parameters: &AlgorithmParameters) -> Option<&'static [Algorithm]> {
    match parameters {
        AlgorithmParameters::EllipticCurve(key) => match key.curve {
            EllipticCurve::P256 => Some(&[Algorithm::ES256]),
            EllipticCurve::P384 => Some(&[Algorithm::ES384]),
            _ => None,
        },
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
            Some(&[Algorithm::EdDSA])
        }
        AlgorithmParameters::RSA(_) => Some(&[
            Algorithm::RS256,
            Algorithm::RS384,
            Algorithm::RS512,
            Algorithm::PS256,
            Algorithm::PS384,
            Algorithm::PS512,
        ]),
        _ => None,
    }
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
        #[derive(serde::Deserialize)]
        struct Published {
            keys: Vec<Box<serde_json::value::RawValue>>,
        }
        let object = Object::parse(Bytes::copy_from_slice(json)).map_err(|_| JoseError::KeySet)?;
        let published: Published = object.to().map_err(|_| JoseError::KeySet)?;
        if published.keys.len() > MAX_KEYS {
            return Err(JoseError::KeySet);
        }
        let usable = |key: &serde_json::value::RawValue| {
            let jwk: Jwk = serde_json::from_str(key.get()).ok()?;
            VerifyingKey::from_jwk(&jwk).ok()
        };
        Ok(Self { keys: published.keys.iter().filter_map(|key| usable(key)).collect() })
    }

    /// Returns the keys that a token with this header may be signed by: the one with the id that it names, or all for its
    /// algorithm if it names none.
    pub fn find<'a>(
        &'a self,
        id: Option<&'a str>,
        algorithm: Algorithm,
    ) -> impl Iterator<Item = &'a VerifyingKey> + 'a {
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

/// The largest number of keys of one issuer.
const MAX_KEYS: usize = 100;
