//! The setting for how much of a call's arguments the audit trail records.

use mgp_types::RawJson;
use mgp_types::canonical::Digest;
use mgp_types::json::ObjectWriter;
use mgp_types::mgp::ResolvedTool;
use ring::hmac;

use super::redact;

/// The part of a call's arguments that is recorded.
///
/// Any part may hold information that an agent was given in confidence, so by default nothing is recorded.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum ArgumentRecording {
    /// No part of the arguments is recorded.
    #[default]
    Omitted,
    /// The HMAC-SHA-256 of the arguments' bytes is recorded as `arguments_digest`, so that their content can be
    /// proved later. It takes a key: without one, short arguments could be found by trying.
    Digest(DigestKey),
    /// The values without secrets are recorded as `arguments`.
    Redacted,
}

impl ArgumentRecording {
    pub(super) fn write(&self, details: &mut ObjectWriter, arguments: &RawJson, tool: Option<&ResolvedTool>) {
        match self {
            Self::Omitted => {}
            Self::Digest(key) => {
                details.plain("arguments_digest", key.authenticate(arguments.as_bytes()));
            }
            Self::Redacted => {
                let schema = tool.and_then(|tool| tool.definition.get("inputSchema"));
                details.json("arguments", &redact::redacted(arguments, schema.as_ref()));
            }
        }
    }
}

/// A secret without which nobody can find out arguments by their digest.
#[derive(Clone)]
pub struct DigestKey(hmac::Key);

impl DigestKey {
    /// Returns the key with these bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
    }

    /// Returns the HMAC-SHA-256 (RFC 2104) of `message`.
    fn authenticate(&self, message: &[u8]) -> Digest {
        let mut digest = [0; 32];
        digest.copy_from_slice(hmac::sign(&self.0, message).as_ref());
        digest.into()
    }
}

mgp_types::partial_debug!(DigestKey);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mac_is_the_one_of_the_rfc() {
        // RFC 4231, test case 1: a key shorter than the digest is the same as one filled up with zeros.
        let mut key = [0; 32];
        key[..20].fill(0x0b);
        let mac = DigestKey::new(key).authenticate(b"Hi There");
        assert_eq!(mac.to_string(), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
        assert_eq!(format!("{:?}", DigestKey::new(key)), "DigestKey { .. }");
    }
}
