//! Tokens that are accepted once.

use std::collections::HashMap;
use std::time::Duration;

use foldhash::fast::RandomState;
use mgp_types::random_bytes;
use parking_lot::Mutex;

use super::key::NONCE;
use super::{SealingKey, TokenBinding, TokenError};

/// Seals tokens that are accepted once, by the process that sealed them: which ones were used is remembered nowhere else,
/// so that another process with the same key, or this one after a restart, takes none of them.
pub struct SingleUseTokens {
    key: SealingKey,
    process: [u8; 16],
    /// The numbers of the used tokens, with the end of their time.
    spent: Mutex<HashMap<[u8; NONCE], u64, RandomState>>,
}

/// The number of used tokens that are remembered; more can be used once the time of these is over.
const MAX_SPENT: usize = 65_536;

impl SingleUseTokens {
    /// Creates tokens that `key` seals.
    ///
    /// # Panics
    /// The operating system gives no random bytes, so nothing secure can be done.
    pub fn new(key: SealingKey) -> Self {
        Self { key, process: random_bytes(), spent: Mutex::default() }
    }

    /// Seals `content` for one use within the time `ttl`.
    ///
    /// # Errors
    /// [`TokenError::TooLarge`]: the token would be longer than its purpose allows.
    pub fn seal(&self, content: &[u8], binding: &TokenBinding, ttl: Duration) -> Result<String, TokenError> {
        self.key.seal(content, &binding.and(&self.process), ttl)
    }

    /// Uses up a token that was sealed for the use that `binding` says. Of several simultaneous uses one succeeds.
    ///
    /// # Errors
    /// The errors of [`SealingKey::open`], and [`TokenError::Spent`] for a token that was used before.
    pub fn take(&self, token: &str, binding: &TokenBinding) -> Result<Vec<u8>, TokenError> {
        let opened = self.key.opened(token, &binding.and(&self.process))?;
        let mut spent = self.spent.lock();
        if spent.len() >= MAX_SPENT {
            let now = self.key.now();
            spent.retain(|_, expiry| now <= *expiry);
        }
        if spent.len() >= MAX_SPENT || spent.insert(opened.nonce, opened.expiry).is_some() {
            return Err(TokenError::Spent);
        }
        Ok(opened.content)
    }
}

mgp_types::partial_debug!(SingleUseTokens, self => spent: self.spent.lock().len());
