//! The hash chain of the audit log.

use mgp_types::canonical::Digest;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The head of a log: the number and the link of its last event. A copy kept elsewhere shows later whether the log
/// still holds what it held then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

    /// Returns the head of a log without events.
    pub(crate) fn start() -> Self {
        Self::new(0, digest(&[START]))
    }

    /// Returns the head of the log after `event` is added behind this one.
    pub(crate) fn link(&self, event: &[u8]) -> Self {
        let seq = self.seq.saturating_add(1);
        Self::new(seq, digest(&[self.hash.as_bytes(), &seq.to_be_bytes(), event]))
    }
}

fn digest(parts: &[&[u8]]) -> Digest {
    <[u8; 32]>::from(parts.iter().fold(Sha256::new(), Sha256::chain_update).finalize()).into()
}

/// The text whose digest is the link before the first event.
const START: &[u8] = b"mgp audit log 1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_depends_on_the_one_before_the_number_and_the_bytes() {
        let start = LogHead::start();
        let link = start.link(b"{}");
        assert_eq!(link.seq, 1);
        assert_eq!(start.link(b"{}"), link);
        for other in [
            start.link(b"{ }"),
            LogHead::new(0, link.hash).link(b"{}"),
            LogHead::new(1, start.hash).link(b"{}"),
        ] {
            assert_ne!(other.hash, link.hash);
        }
    }
}
