//! Tokens that were verified or refused before, and open questions about those that say nothing themselves.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use foldhash::quality::RandomState;
use mgp_types::mgp::Timestamp;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::sync::{OnceCell, Semaphore};

use super::TokenError;
use super::resource_server::KnownToken;

/// A bounded number of tokens, by their digests.
#[derive(Default)]
pub(super) struct TokenCache {
    verified: Mutex<HashMap<[u8; 32], Arc<KnownToken>, RandomState>>,
    /// The tokens that issuers were asked about and that are refused, with the time until which nobody is asked again.
    refused: Mutex<HashMap<[u8; 32], (TokenError, Timestamp), RandomState>>,
}

impl TokenCache {
    pub(super) fn digest(token: &str) -> [u8; 32] {
        Sha256::digest(token).into()
    }

    /// Returns a token that was verified before, by keys that its issuer still has.
    pub(super) fn find(&self, digest: &[u8; 32], now: Timestamp) -> Option<Arc<KnownToken>> {
        self.verified.lock().get(digest).filter(|known| known.is_fresh(now)).cloned()
    }

    pub(super) fn put(&self, digest: [u8; 32], known: Arc<KnownToken>, now: Timestamp) {
        let mut tokens = self.verified.lock();
        make_room(&mut tokens, |known| known.is_fresh(now));
        tokens.insert(digest, known);
    }

    /// Returns why a token was refused of which its issuer told lately.
    pub(super) fn refusal(&self, digest: &[u8; 32], now: Timestamp) -> Option<TokenError> {
        let refused = self.refused.lock();
        refused.get(digest).filter(|(_, end)| now < *end).map(|(error, _)| *error)
    }

    /// Notes why a token is refused of which its issuer told.
    pub(super) fn refuse(&self, digest: [u8; 32], error: TokenError, now: Timestamp) {
        let mut tokens = self.refused.lock();
        make_room(&mut tokens, |(_, end)| now < *end);
        tokens.insert(digest, (error, now.saturating_add(REFUSED_FOR)));
    }
}

/// Removes what does not hold any more where there is no room, or else everything: each token can be verified again.
fn make_room<T>(tokens: &mut HashMap<[u8; 32], T, RandomState>, holds: impl Fn(&T) -> bool) {
    if tokens.len() >= MAX_TOKENS {
        tokens.retain(|_, token| holds(token));
        if tokens.len() >= MAX_TOKENS {
            tokens.clear();
        }
    }
}

const MAX_TOKENS: usize = 10_000;
/// The time for which no issuer is asked again about a token that is refused.
const REFUSED_FOR: Duration = Duration::from_secs(10);

/// The questions that are open. All who come with one token wait for one answer.
pub(super) struct OpenQuestions {
    open: Mutex<HashMap<[u8; 32], Weak<Question>, RandomState>>,
    room: Semaphore,
}

type Question = OnceCell<TokenAnswer>;
/// The outcome of a question to the issuer.
type TokenAnswer = Result<Arc<KnownToken>, TokenError>;

impl OpenQuestions {
    pub(super) fn new() -> Self {
        Self { open: Mutex::default(), room: Semaphore::new(MAX_QUESTIONS) }
    }

    /// Returns the answer about the token with this digest, for which `ask` asks unless somebody else does already. Where too
    /// many questions are open, nobody is asked: texts that are no tokens must not keep the issuers busy.
    pub(super) async fn answer(
        &self,
        digest: [u8; 32],
        ask: impl Future<Output = TokenAnswer>,
    ) -> TokenAnswer {
        let question = self.about(digest);
        let asked = async {
            let _room = self.room.try_acquire().map_err(|_| TokenError::Unreachable)?;
            ask.await
        };
        question.get_or_init(|| asked).await.clone()
    }

    fn about(&self, digest: [u8; 32]) -> Arc<Question> {
        let mut open = self.open.lock();
        if let Some(question) = open.get(&digest).and_then(Weak::upgrade) {
            return question;
        }
        let question = Arc::<Question>::default();
        open.retain(|_, question| question.strong_count() > 0);
        open.insert(digest, Arc::downgrade(&question));
        question
    }
}

/// The number of tokens about which issuers are asked at once.
const MAX_QUESTIONS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_loses_first_what_does_not_hold_any_more() {
        let mut tokens = HashMap::default();
        let digest = |number: usize| TokenCache::digest(&number.to_string());
        tokens.extend((0..MAX_TOKENS).map(|number| (digest(number), number)));
        make_room(&mut tokens, |number| number % 2 == 0);
        assert_eq!(tokens.len(), MAX_TOKENS / 2);
        tokens.extend((0..MAX_TOKENS).map(|number| (digest(number), number)));
        make_room(&mut tokens, |_| true);
        assert!(tokens.is_empty());
    }
}
