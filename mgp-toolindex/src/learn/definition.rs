//! Digests of definitions: what was learned of a tool holds for one definition of it.

use mgp_types::RawJson;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::hex;

/// The digest of a tool's definition. A tool with another definition may be another tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DefinitionDigest(#[serde(with = "hex")] [u8; 32]);

impl DefinitionDigest {
    pub(crate) fn of(definition: &RawJson) -> Self {
        Self(Sha256::digest(definition.as_bytes()).into())
    }
}
