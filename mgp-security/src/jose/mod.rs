//! Signed tokens (JWT), the keys that sign and verify them (JWK), and proofs of possession (DPoP).
//!
//! Only asymmetric algorithms exist here: what is verified with a public key can never be mistaken for what was signed with
//! it as a shared secret. Every reading is bounded, and a signature says nothing about claims, which are judged by who
//! knows what they have to be.
//!
//! | item | purpose |
//! |---|---|
//! | [`SigningKey`] | a private key |
//! | [`VerifyingKey`], [`KeySet`] | a public key, and those that an issuer publishes |
//! | [`header`], [`verify`] | reading a token |
//! | [`dpop`] | proofs that the sender of a request holds a key |

pub mod dpop;
mod key_set;
mod signing_key;

pub use jsonwebtoken::jwk::Jwk;
pub use jsonwebtoken::{Algorithm, Header};

pub use self::key_set::{JoseError, KeySet, VerifyingKey, header, verify};
pub use self::signing_key::SigningKey;

/// Returns whether an algorithm signs with a private key and verifies with a public one, and is one of those built in.
pub(crate) const fn is_asymmetric(algorithm: Algorithm) -> bool {
    !matches!(algorithm, Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512)
}

#[cfg(test)]
mod tests;
