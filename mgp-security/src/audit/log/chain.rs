//! The hash chain of the audit log: its key and its head.

use std::fmt;
use std::sync::Arc;

use mgp_types::canonical::Digest;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// The head of a log: the number and the link of its last event. A copy kept elsewhere shows later whether the log
/// still holds what it held then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LogHead {
    /// The number of the last event; 0 if there is none yet.
    pub seq: u64,
    /// The link of the last event.
    pub hash: Digest,
}

impl LogHead {
    /// Returns the head of a log whose last event has this number and link.
    pub const fn new(seq: u64, hash: Digest) -> Self {
        Self { seq, hash }
    }
}

/// A secret that goes into each link, so that the log cannot be rewritten without it.
#[derive(Clone)]
pub struct ChainKey(Arc<HmacStart>);

/// The states of the two hashes of an HMAC after reading the key, which are the same each time.
struct HmacStart {
    inner: Sha256,
    outer: Sha256,
}

impl ChainKey {
    /// Returns the key with these bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        let padded = |with: u8| {
            let mut block = [with; BLOCK];
            block.iter_mut().zip(bytes).for_each(|(byte, key)| *byte ^= key);
            Sha256::new_with_prefix(block)
        };
        Self(Arc::new(HmacStart { inner: padded(0x36), outer: padded(0x5c) }))
    }

    /// Returns the HMAC-SHA-256 (RFC 2104) of `parts` joined together.
    pub(crate) fn authenticate(&self, parts: &[&[u8]]) -> Digest {
        let inner = parts.iter().fold(self.0.inner.clone(), Sha256::chain_update).finalize();
        Digest::from(<[u8; 32]>::from(self.0.outer.clone().chain_update(inner).finalize()))
    }
}

impl fmt::Debug for ChainKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The way links are made: with a key or without.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chain(Option<ChainKey>);

impl Chain {
    pub(crate) const fn new(key: Option<ChainKey>) -> Self {
        Self(key)
    }

    /// Returns the head of a log without events.
    pub(crate) fn start(&self) -> LogHead {
        LogHead::new(0, self.digest(&[START]))
    }

    /// Returns the head of the log after `event` is added behind `before`.
    pub(crate) fn link(&self, before: &LogHead, event: &[u8]) -> LogHead {
        let seq = before.seq.saturating_add(1);
        LogHead::new(seq, self.digest(&[before.hash.as_bytes(), &seq.to_be_bytes(), event]))
    }

    fn digest(&self, parts: &[&[u8]]) -> Digest {
        match &self.0 {
            Some(key) => key.authenticate(parts),
            None => {
                <[u8; 32]>::from(parts.iter().fold(Sha256::new(), Sha256::chain_update).finalize()).into()
            }
        }
    }
}

/// The block size of SHA-256, in bytes.
const BLOCK: usize = 64;

/// The text whose digest is the link before the first event.
const START: &[u8] = b"mgp audit log 1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_depends_on_the_one_before_the_number_the_bytes_and_the_key() {
        let chain = Chain::default();
        let start = chain.start();
        let link = chain.link(&start, b"{}");
        assert_eq!(link.seq, 1);
        assert_eq!(chain.link(&start, b"{}"), link);
        let keyed = Chain::new(Some(ChainKey::new([7; 32])));
        for other in [
            chain.link(&start, b"{ }"),
            chain.link(&LogHead::new(0, link.hash), b"{}"),
            chain.link(&LogHead::new(1, start.hash), b"{}"),
            keyed.link(&start, b"{}"),
        ] {
            assert_ne!(other.hash, link.hash);
        }
        assert_ne!(keyed.start(), start);
    }

    #[test]
    fn the_mac_is_the_one_of_the_rfc() {
        // RFC 4231, test case 1: a key shorter than the digest is the same as one filled up with zeros.
        let mut key = [0; 32];
        key[..20].fill(0x0b);
        let mac = ChainKey::new(key).authenticate(&[b"Hi ", b"There"]);
        assert_eq!(mac.to_string(), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
        assert_eq!(format!("{:?}", ChainKey::new(key)), "***");
    }
}
