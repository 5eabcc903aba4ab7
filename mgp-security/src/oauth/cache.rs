//! Tokens that were verified before.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::quality::RandomState;
use mgp_types::mgp::Timestamp;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use super::resource_server::KnownToken;

/// A bounded number of verified tokens, by their digests.
#[derive(Default)]
pub(super) struct TokenCache(Mutex<HashMap<[u8; 32], Arc<KnownToken>, RandomState>>);

impl TokenCache {
    pub(super) fn digest(token: &str) -> [u8; 32] {
        Sha256::digest(token).into()
    }

    /// Returns a token that was verified before, and still holds as far as it says.
    pub(super) fn find(&self, digest: &[u8; 32], now: Timestamp) -> Option<Arc<KnownToken>> {
        self.0.lock().get(digest).filter(|known| now < known.fresh_until).cloned()
    }

    pub(super) fn put(&self, digest: [u8; 32], known: Arc<KnownToken>, now: Timestamp) {
        let mut tokens = self.0.lock();
        if tokens.len() >= MOST_TOKENS {
            tokens.retain(|_, known| now < known.fresh_until);
            // Each token can be verified again.
            if tokens.len() >= MOST_TOKENS {
                tokens.clear();
            }
        }
        tokens.insert(digest, known);
    }

    /// Forgets the tokens of an issuer, whose keys are others now.
    pub(super) fn forget(&self, issuer: &str) {
        self.0.lock().retain(|_, known| *known.issuer != *issuer);
    }
}

const MOST_TOKENS: usize = 10_000;
