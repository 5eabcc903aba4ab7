use std::fmt;

use mgp_types::RawJson;
use sha2::{Digest as _, Sha256};

/// The SHA-256 of a value in its canonical form.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Digest([u8; 32]);

#[derive(Debug, thiserror::Error)]
#[error("the value has no canonical form")]
pub(super) struct CanonicalError;

impl Digest {
    pub(super) const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

pub(super) fn digest(value: &RawJson) -> Result<Digest, CanonicalError> {
    let value: serde_json::Value = value.to().map_err(|_| CanonicalError)?;
    let canonical = serde_json_canonicalizer::to_vec(&value).map_err(|_| CanonicalError)?;
    Ok(Digest(Sha256::digest(canonical).into()))
}
